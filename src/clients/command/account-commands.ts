import { mkdir, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { OwnQuota } from '../../senders/account/account-policy.ts'
import { periods, type Period } from '../../senders/account/quota-calendar.ts'
import { SternaError } from '../../platform/errors.ts'
import { accountObject, type accountResource } from '../../api/resource/account-operations.ts'
import type { quotaResource } from '../../api/resource/quota-operations.ts'
import { argument, table, textOption, usageFault, type Command, type CommandInput } from './command.ts'
import { apiCommand, type ApiCommand } from './api-command.ts'
import { accountArgument, accountIn, serverWide } from './command-scope.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

type ShownAccount = ReturnType<typeof accountResource.answer>

interface Owner {
  accountId: string
}

/** A command that changes an account and prints its id. */
const accountChange = (
  command: Omit<ApiCommand<ShownAccount, Owner>, 'does' | 'of' | 'show'> & { remark(changed: ShownAccount): string },
) =>
  apiCommand<ShownAccount, Owner>({
    ...command,
    does: 'accounts.update',
    args: { ACCOUNT: accountArgument, ...command.args },
    onlyNamed: true,
    of: accountIn,
    show: (changed) => ({ stdout: `${changed.id}\n`, stderr: `${command.remark(changed)}\n` }),
  })

export const accountCommands: Command[] = [
  apiCommand<ShownAccount>({
    name: 'account create',
    does: 'accounts.create',
    args: { NAME: 'name' },
    of: serverWide,
    doc: 'Creates an account and prints its id.',
    show: ({ id }) => ({ stdout: `${id}\n` }),
  }),
  apiCommand<{ data: ShownAccount[] }>({
    name: 'account list',
    does: 'accounts.list',
    of: serverWide,
    whole: true,
    doc: 'Lists the accounts.',
    columns: {
      ID: ({ id }) => id,
      NAME: ({ name }) => name,
      PLAN: ({ plan }) => plan,
      STATUS: ({ status }) => status,
      CREATED: ({ created_at: at }) => at,
    },
  }),
  accountChange({
    name: 'account suspend',
    sets: { status: 'suspended' },
    doc:
      'Refuses all further mail of an account at once, and holds its scheduled mail. Mail that is already queued is still delivered, ' +
      'and the account can still read.',
    remark: ({ name }) => `The account ${name} is suspended.`,
  }),
  accountChange({
    name: 'account resume',
    sets: { status: 'active' },
    doc: 'Lets a suspended or slowed account send again. Mail that was held goes out, and harm counts from zero.',
    remark: ({ name }) => `The account ${name} may send again.`,
  }),
  accountChange({
    name: 'account plan',
    args: { PLAN: 'plan' },
    doc: 'Moves an account to another plan of the setting plans.',
    remark: ({ name, plan }) => `The account ${name} is now on the plan ${plan}.`,
  }),
  accountChange({
    name: 'account notices',
    args: { 'on|off': { field: 'delivery_notices', as: (typed) => typed === 'on' } },
    choices: { 'on|off': ['on', 'off'] },
    doc:
      'Turns delivery notices on or off: mail to the MAIL FROM address when a message submitted over SMTP fails or is delayed. The ' +
      "message's NOTIFY parameter says which (RFC 3461, RFC 3464).",
    remark: ({ name, delivery_notices: isOn }) => `Delivery notices of the account ${name} are ${isOn ? 'on' : 'off'}.`,
  }),
  {
    name: 'account quota',
    args: ['ACCOUNT'],
    options: {
      domain: { type: 'string', value: 'DOMAIN', doc: 'The quota of one of its domains, which counts besides that of the account.' },
      day: { type: 'string', value: 'N', doc: 'Recipients per day (UTC): a number, unlimited, or plan for what the plan says.' },
      month: { type: 'string', value: 'N', doc: 'Recipients per month, likewise.' },
    },
    doc:
      'Shows how many recipients an account may mail per day and per month, and how many it has mailed; --day and --month change it. ' +
      'Mail beyond a quota is refused until the day or the month is over.',
    recordsItself: true,
    async run(input, services) {
      const { accountId } = accountIn(input, services)
      const domain = textOption(input, 'domain')
      const body = Object.fromEntries(periods.flatMap((period) => limitOption(input, period)))
      const json = (await services.perform(
        `${domain === undefined ? 'accounts' : 'domains'}.${Object.keys(body).length > 0 ? 'update_quota' : 'quota'}`,
        { scope: { accountId, sandbox: false }, params: domain === undefined ? { id: accountId } : { idOrName: domain }, query: {}, body },
      )) as ReturnType<typeof quotaResource.answer>
      const rows = periods.map((period) => {
        const { limit, used, remaining, resets_at: resetsAt } = json[period]
        return [period, String(limit ?? 'unlimited'), String(used ?? '-'), String(remaining ?? '-'), resetsAt]
      })
      return { stdout: table([['PERIOD', 'LIMIT', 'USED', 'REMAINING', 'RESETS'], ...rows]), json }
    },
  },
  {
    name: 'account export',
    reads: true,
    args: ['ACCOUNT', 'DIRECTORY'],
    options: {},
    doc:
      'Writes all data of an account into a new directory: its settings, its mail with attempts and events, and the messages that are ' +
      'still kept. Secrets are left out. docs/account-export.md describes the files.',
    async run(input, services, { signal }) {
      // Other commands start faster without it.
      const { exportAccount } = await import('./export-account.ts')
      const account = services.accounts.getAccount(argument(input, 0))
      const directory = resolve(input.cwd, argument(input, 1))
      await makeEmpty(directory)
      const plans = { byName: services.config.plans, standard: services.config.accounts.defaultPlan }
      const json = await exportAccount({ account, directory, services, signal }, accountObject(account, { ...services, plans }))
      const stderr = table([['FILE', 'LINES'], ...json.files.map(({ name, lines }) => [name, String(lines)])])
      return { stdout: `${directory}\n`, json: { ...json, directory }, stderr }
    },
  },
  apiCommand<{ id: string }, Owner & { id: string }>({
    name: 'account delete',
    does: 'accounts.delete',
    args: { ACCOUNT: { field: 'id', as: (_, { id }) => id } },
    // Nobody deletes the account that they act as.
    of: (input, services) => ({ ...serverWide(), id: accountIn(input, services).accountId }),
    doc:
      'Deletes an account without queued mail, together with its keys, users, webhooks, domains, templates and suppressions. The ' +
      'mail it has sent stays until retention removes it.',
    asks: (input) => `Delete the account ${argument(input, 0)} with its keys, users, webhooks, domains, templates and suppressions?`,
    show: ({ id }) => ({ stdout: `${id}\n` }),
  }),
]

/** What an option says of a period: nothing if it is not given. */
function limitOption(input: CommandInput, period: Period): [Period, OwnQuota[Period]][] {
  const given = textOption(input, period)
  if (given === undefined) return []
  if (given === 'unlimited') return [[period, given]]
  if (given === 'plan') return [[period, null]]
  if (/^\d{1,9}$/.test(given)) return [[period, Number(given)]]
  throw usageFault(`--${period} is "${given}". It must be a number of recipients, unlimited, or plan.`)
}

/** Makes a directory for its owner alone, or takes one that is empty. */
async function makeEmpty(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    if ((await readdir(directory)).length === 0) return
  } catch (error) {
    const message = `${directory} cannot be written (${reasonOf(error)}). Name a directory where the server's user may write.`
    throw new SternaError('invalid_state', message, { cause: error })
  }
  throw new SternaError('invalid_state', `${directory} is not empty. Name a new directory.`)
}
