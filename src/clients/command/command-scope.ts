import type { AccountScope } from '../../senders/account/account-scope.ts'
import { pageOf, pageParameters } from '../../api/operation/page.ts'
import type { QueryValues } from '../../api/operation/operation.ts'
import type { QueryShape } from '../../api/operation/query.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import type { CommandServices } from './command-services.ts'
import { accountOption, flagOption, requiredOption, textOption, usageFault, type CommandInput } from './command.ts'

/** The options of what an account has both live and in the sandbox. */
export const scopeOptions = {
  account: accountOption,
  sandbox: { type: 'boolean', doc: 'In the sandbox instead of live.' },
} as const

export const scopeOf = (input: CommandInput, { accounts }: Pick<CommandServices, 'accounts'>): AccountScope => ({
  accountId: accounts.getAccount(requiredOption(input, 'account')).id,
  sandbox: flagOption(input, 'sandbox'),
})

/** The options of a list that goes on. */
export const pageOptions = {
  limit: { type: 'string', value: 'N', doc: 'How many at most, 1 to 100; default: 20.' },
  after: { type: 'string', value: 'ID', doc: 'Continues behind this entry, the last one of the page before.' },
} as const

/** @throws SternaError `invalid_parameter` for a faulty one, which exits with 2 */
export const pageIn = (input: CommandInput): Page =>
  pageOf({ before: null, ...parameters(input, { limit: pageParameters.limit, after: pageParameters.after }) })

/**
 * The options that are parameters of the API, by the API's names, in the form that the API gives them.
 * @throws SternaError `invalid_parameter` for a faulty one, which exits with 2
 */
export function parameters<Q extends QueryShape>(input: CommandInput, shape: Q): QueryValues<Q> {
  const values = Object.entries(shape).map(([name, schema]) => {
    const option = name.replaceAll('_', '-')
    const text = textOption(input, option)
    if (text === undefined) return [name, null]
    const result = schema.safeParse(text)
    if (!result.success) throw usageFault(`--${option} ${result.error.issues[0]?.message ?? 'is not valid'}.`)
    return [name, result.data]
  })
  return Object.fromEntries(values) as QueryValues<Q>
}
