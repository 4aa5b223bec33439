import type { Accounts } from '../../senders/account/accounts.ts'
import type { Change } from '../../senders/account/audit-log.ts'
import type { Command, CommandInput } from './command.ts'

/** What the audit log records of a command: the names of options, never their values. */
export function commandChange(
  { name, args }: Command,
  input: CommandInput,
  { accounts, objectId }: { accounts: Accounts; objectId: string | undefined },
): Change {
  const [first = ''] = input.args
  const named = input.options['account'] ?? (args[0] === 'ACCOUNT' ? first : undefined)
  const account = typeof named === 'string' ? accounts.findAccount(named) : undefined
  const isId = /^[a-z]{2,5}_[0-9a-z]{26}$/.test(first)
  return {
    accountId: account?.id ?? null,
    actor: { type: 'command', id: null, name: 'command line' },
    operation: name,
    objectId: objectId ?? (isId ? first : null),
    fields: Object.keys(input.options).filter((option) => option !== 'account'),
    address: null,
    requestId: null,
  }
}
