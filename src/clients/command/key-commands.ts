import { newToken } from '../../senders/account/api-key-token.ts'
import { duration } from '../../platform/config/setting-types.ts'
import type { apiKey } from '../../api/resource/api-key-operations.ts'
import { apiCommand } from './api-command.ts'
import type { CommandServices } from './command-services.ts'
import { argument, flagOption, type Command, type CommandInput, type CommandOutput } from './command.ts'

export const keyCommands: Command[] = [
  apiCommand<{ id: string; token: string }>({
    name: 'key create',
    does: 'api_keys.create',
    options: { domain: 'domain_id', expires: 'expires_at', name: { field: 'name', doc: 'What the key is for.' } },
    sets: { name: 'command line' },
    doc: 'Creates an API key and prints it. The key is shown only once, because only its SHA-256 is stored.',
    show: ({ id, token }, { owner, services }) => ({
      stdout: `${token}\n`,
      stderr: `Key ${id} of account ${services.accounts.getAccount(owner.accountId).name}. Keep it: it is not shown again.\n`,
    }),
  }),
  {
    name: 'key generate',
    needs: 'nothing',
    reads: true,
    args: [],
    options: { sandbox: { type: 'boolean', doc: 'A key for the sandbox.' } },
    doc: 'Prints a new API key and stores nothing. It works once "apply" has made a key with it, from a secret store for example.',
  },
  apiCommand<{ data: ReturnType<typeof apiKey.answer>[] }>({
    name: 'key list',
    does: 'api_keys.list',
    whole: true,
    doc: 'Lists the API keys of an account.',
    columns: {
      ID: ({ id }) => id,
      KEY: ({ prefix }) => `${prefix}…`,
      PERMISSION: ({ permission }) => permission,
      MODE: ({ sandbox }) => (sandbox ? 'sandbox' : 'live'),
      DOMAIN: ({ domain_id: id }) => id ?? '-',
      'LAST USED': ({ last_used_at: at }) => at ?? '-',
      EXPIRES: ({ expires_at: at }) => at ?? '-',
      NAME: ({ name }) => name,
    },
  }),
  apiCommand<{ token: string; previous_expires_at: string }>({
    name: 'key rotate',
    does: 'api_keys.rotate',
    args: { ID: 'id' },
    of: ownerOfKey,
    options: {
      overlap: {
        field: 'overlap_seconds',
        value: 'DURATION',
        doc: 'How long the old token keeps working, such as 24h (the default) or 0.',
        as: (typed) => duration.parse(typed) / 1000,
      },
    },
    doc: 'Gives an API key a new token and prints it. The token is shown only once.',
    show: ({ token, previous_expires_at: at }) => ({ stdout: `${token}\n`, stderr: `The old token works until ${at}.\n` }),
  }),
  apiCommand<{ id: string }>({
    name: 'key revoke',
    does: 'api_keys.delete',
    args: { ID: 'id' },
    of: ownerOfKey,
    doc: 'Revokes an API key at once, even in open SMTP sessions.',
    asks: (input) => `Revoke the API key ${argument(input, 0)}? Whatever uses it can no longer send.`,
    show: ({ id }) => ({ stdout: '', stderr: `${id} is revoked.\n` }),
  }),
]

/** `key generate` */
export function generateKey(input: CommandInput): CommandOutput {
  const token = newToken(flagOption(input, 'sandbox'))
  return { stdout: `${token}\n`, json: { object: 'api_key', token } }
}

/** Ids are unique, so no account needs to be named. */
function ownerOfKey(input: CommandInput, { apiKeys }: CommandServices): { accountId: string } {
  return { accountId: apiKeys.get(argument(input, 0)).accountId }
}
