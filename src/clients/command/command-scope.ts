import type { AccountScope } from '../../senders/account/account-scope.ts'
import type { QueryValues } from '../../api/operation/operation.ts'
import { readQuery, type QueryShape } from '../../api/operation/query.ts'
import { asTyped } from './as-typed.ts'
import type { CommandServices } from './command-services.ts'
import { accountOption, argument, flagOption, requiredOption, textOption, type CommandInput } from './command.ts'
import { optionNameOf } from './field-options.ts'

/** The options of what an account has both live and in the sandbox. */
export const scopeOptions = {
  account: accountOption,
  sandbox: { type: 'boolean', doc: 'In the sandbox instead of live.' },
} as const

export const scopeOf = (input: CommandInput, { accounts }: Pick<CommandServices, 'accounts'>): AccountScope => ({
  accountId: accounts.getAccount(requiredOption(input, 'account')).id,
  sandbox: flagOption(input, 'sandbox'),
})

/** The account that the first argument names. */
export const accountIn = (input: CommandInput, { accounts }: Pick<CommandServices, 'accounts'>): { accountId: string } => ({
  accountId: accounts.getAccount(argument(input, 0)).id,
})

/** The argument of `accountIn`, a name or an id, for the `id` in the path of an operation. */
export const accountArgument = { field: 'id', as: (_typed: string, { accountId }: { accountId: string }) => accountId } as const

/** What a command is about that is about no single account. */
export const serverWide = (): { accountId: string } => ({ accountId: '' })

/** The account of `--account`; every account without it. */
export const accountIfGiven = (input: CommandInput, { accounts }: Pick<CommandServices, 'accounts'>): { accountId: string } => {
  const name = textOption(input, 'account')
  return name === undefined ? serverWide() : { accountId: accounts.getAccount(name).id }
}

/**
 * The options that are parameters of the API, by the API's names, in the form that the API gives them.
 * @throws SternaError `invalid_parameter` for a faulty one, which exits with 2
 */
export function parameters<Q extends QueryShape>(input: CommandInput, shape: Q): QueryValues<Q> {
  const given = Object.keys(shape).map((name) => [name, textOption(input, optionNameOf(name)) ?? ''])
  try {
    return readQuery(new URLSearchParams(given).toString(), shape) as QueryValues<Q>
  } catch (error) {
    throw asTyped(error, (name) => `--${optionNameOf(name)}`)
  }
}
