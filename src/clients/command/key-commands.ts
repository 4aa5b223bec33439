import { newToken } from '../../senders/account/api-key-token.ts'
import { permissions, type Permission } from '../../senders/account/permission.ts'
import { duration, SettingFault } from '../../platform/config/setting-types.ts'
import { apiKey } from '../../api/http/api/api-key-operations.ts'
import { isoTime, parseIsoTime } from '../../platform/iso-time.ts'
import {
  accountOption as account,
  argument,
  deletedObject,
  flagOption,
  listObject,
  requiredOption,
  shownTime,
  table,
  textOption,
  usageFault,
  type Command,
  type CommandInput,
  type CommandOutput,
} from './command.ts'

export const keyCommands: Command[] = [
  {
    name: 'key create',
    args: [],
    options: {
      account,
      permission: {
        type: 'string',
        value: 'PERMISSION',
        choices: permissions,
        doc: 'What it may do; default: full_access, or sending_access with --domain.',
      },
      domain: { type: 'string', value: 'DOMAIN', doc: 'Limits the key to sending from this domain.' },
      name: { type: 'string', value: 'NAME', doc: 'What the key is for.' },
      expires: { type: 'string', value: 'TIME', doc: 'When it expires, such as 2027-01-01T00:00:00Z.' },
      sandbox: {
        type: 'boolean',
        doc: 'Nothing sent with this key leaves the machine. It needs no verified domain, and changes nothing live.',
      },
    },
    doc: 'Creates an API key and prints it. The key is shown only once, because only its SHA-256 is stored.',
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
        expiresAt: timeOf(textOption(input, 'expires')),
      })
      return {
        stdout: `${token}\n`,
        json: { object: 'api_key', id, token },
        objectId: id,
        stderr: `Key ${id} of account ${owner.name}. Keep it: it is not shown again.\n`,
      }
    },
  },
  {
    name: 'key generate',
    needs: 'nothing',
    reads: true,
    args: [],
    options: { sandbox: { type: 'boolean', doc: 'A key for the sandbox.' } },
    doc: 'Prints a new API key and stores nothing. It works once "apply" has made a key with it, from a secret store for example.',
  },
  {
    name: 'key list',
    reads: true,
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
        shownTime(key.lastUsedAt),
        shownTime(key.expiresAt),
        key.name,
      ])
      const heading = ['ID', 'KEY', 'PERMISSION', 'MODE', 'DOMAIN', 'LAST USED', 'EXPIRES', 'NAME']
      return { stdout: table([heading, ...rows]), json: listObject(keys.map(apiKey.answer)) }
    },
  },
  {
    name: 'key rotate',
    args: ['ID'],
    options: {
      overlap: { type: 'string', value: 'DURATION', doc: 'How long the old token keeps working, such as 24h (the default) or 0.' },
      force: { type: 'boolean', doc: 'Rotates even while the overlap of an earlier rotation runs, and ends that overlap.' },
    },
    doc: 'Gives an API key a new token and prints it. The token is shown only once.',
    async run(input, { apiKeys }) {
      const keyId = argument(input, 0)
      const overlapMs = durationOf(textOption(input, 'overlap') ?? '24h')
      const { token, previousExpiresAt } = await apiKeys.rotate(keyId, { overlapMs, force: flagOption(input, 'force') })
      return {
        stdout: `${token}\n`,
        json: { object: 'api_key', id: keyId, token, previous_expires_at: isoTime(previousExpiresAt) },
        stderr: `The old token works until ${shownTime(previousExpiresAt)}.\n`,
      }
    },
  },
  {
    name: 'key revoke',
    args: ['ID'],
    options: {},
    doc: 'Revokes an API key at once, even in open SMTP sessions.',
    asks: (input) => `Revoke the API key ${argument(input, 0)}? Whatever uses it can no longer send.`,
    async run(input, { apiKeys, log }) {
      const keyId = argument(input, 0)
      await apiKeys.revoke(keyId)
      log.info({ keyId }, 'API key revoked')
      return { stdout: '', json: deletedObject('api_key', keyId), stderr: `${keyId} is revoked.\n` }
    },
  },
]

/** `key generate` */
export function generateKey(input: CommandInput): CommandOutput {
  const token = newToken(flagOption(input, 'sandbox'))
  return { stdout: `${token}\n`, json: { object: 'api_key', token } }
}

function permissionOf(input: CommandInput): Permission {
  const standard = input.options['domain'] === undefined ? 'full_access' : 'sending_access'
  return permissions.find((known) => known === textOption(input, 'permission')) ?? standard
}

function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null
  const at = parseIsoTime(text)
  if (at !== null) return at
  throw usageFault(`--expires: "${text}" is not a time. Write it like 2027-01-01T00:00:00Z.`)
}

function durationOf(text: string): number {
  try {
    return duration.parse(text)
  } catch (error) {
    throw error instanceof SettingFault ? usageFault(`--overlap: ${error.message}`) : error
  }
}
