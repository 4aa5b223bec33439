import { permissions } from '../account/permission.ts'
import type { Permission } from '../account/permission.ts'
import { SternaError } from '../errors.ts'
import { accountOption as account, argument, flagOption, isoTime, requiredOption, table, textOption } from './command.ts'
import type { Command, CommandInput } from './command.ts'

export const keyCommands: Command[] = [
  {
    name: 'key create',
    args: [],
    options: {
      account,
      permission: {
        type: 'string',
        value: 'PERMISSION',
        doc: `One of ${permissions.join(', ')}; default: full_access, with --domain sending_access.`,
      },
      domain: { type: 'string', value: 'DOMAIN', doc: 'Lets the key send from this domain only.' },
      name: { type: 'string', value: 'NAME', doc: 'What the key is for.' },
      sandbox: { type: 'boolean', doc: 'Nothing sent with this key leaves the machine; it needs no verified domain.' },
    },
    doc: 'Creates an API key and prints it. It is shown this once: only its SHA-256 is stored.',
    async run(input, { accounts, apiKeys, sendingDomains }) {
      const owner = accounts.getAccount(requiredOption(input, 'account'))
      const domainName = textOption(input, 'domain')
      const domain = domainName === undefined ? null : sendingDomains.get(owner.id, domainName)
      const { id, token } = await apiKeys.create({
        accountId: owner.id,
        name: textOption(input, 'name') ?? 'command line',
        permission: permissionOf(input),
        domainId: domain?.id ?? null,
        sandbox: flagOption(input, 'sandbox'),
      })
      return { stdout: `${token}\n`, stderr: `Key ${id} of account ${owner.name}. Keep it: it is not shown again.\n` }
    },
  },
  {
    name: 'key list',
    args: [],
    options: { account },
    doc: 'Lists the API keys of an account.',
    async run(input, { accounts, apiKeys }) {
      const keys = apiKeys.list(accounts.getAccount(requiredOption(input, 'account')).id)
      const rows = keys.map((key) => [
        key.id,
        `${key.prefix}…`,
        key.permission,
        key.sandbox ? 'sandbox' : 'live',
        key.domainId ?? '-',
        isoTime(key.lastUsedAt),
        key.name,
      ])
      return { stdout: table([['ID', 'KEY', 'PERMISSION', 'MODE', 'DOMAIN', 'LAST USED', 'NAME'], ...rows]) }
    },
  },
  {
    name: 'key revoke',
    args: ['ID'],
    options: {},
    doc: 'Ends an API key at once, in open SMTP sessions too.',
    async run(input, { apiKeys, log }) {
      const keyId = argument(input, 0)
      await apiKeys.revoke(keyId)
      log.info({ keyId }, 'API key revoked')
      return { stdout: '', stderr: `${keyId} is revoked.\n` }
    },
  },
]

function permissionOf(input: CommandInput): Permission {
  const given = textOption(input, 'permission') ?? (input.options['domain'] === undefined ? 'full_access' : 'sending_access')
  const permission = permissions.find((known) => known === given)
  if (permission) return permission
  throw new SternaError('validation_error', `There is no permission "${given}"; choose one of ${permissions.join(', ')}.`)
}
