import { removeAccount } from '../../upkeep/account-removal.ts'
import { mkdir, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Account } from '../../senders/account/accounts.ts'
import { deliveryNotices, mailQuota, type OwnQuota } from '../../senders/account/account-policy.ts'
import { checkedPlan } from '../../senders/account/plan.ts'
import { periods, type Period } from '../../senders/account/quota-calendar.ts'
import { SternaError } from '../../platform/errors.ts'
import { accountObject } from '../../api/http/api/account-operations.ts'
import { quotaObject } from '../../api/http/api/quota-operations.ts'
import {
  argument,
  deletedObject,
  listObject,
  shownTime,
  table,
  textOption,
  usageFault,
  type Command,
  type CommandInput,
  type CommandOutput,
} from './command.ts'
import type { CommandServices } from './command-services.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

export const accountCommands: Command[] = [
  {
    name: 'account create',
    args: ['NAME'],
    options: { plan: { type: 'string', value: 'PLAN', doc: 'One of the plans in the setting plans; default: accounts.default_plan.' } },
    doc: 'Creates an account and prints its id.',
    async run(input, services) {
      const { accounts, config } = services
      const plan = checkedPlan(textOption(input, 'plan') ?? config.accounts.defaultPlan, config.plans)
      const account = await accounts.create(argument(input, 0), plan)
      return shown(account, services)
    },
  },
  {
    name: 'account list',
    reads: true,
    args: [],
    options: {},
    doc: 'Lists the accounts.',
    async run(_input, services) {
      const accounts = services.accounts.list()
      const rows = accounts.map(({ id, name, plan, status, createdAt }) => [id, name, plan, status, shownTime(createdAt)])
      return {
        stdout: table([['ID', 'NAME', 'PLAN', 'STATUS', 'CREATED'], ...rows]),
        json: listObject(accounts.map((account) => objectOf(account, services))),
      }
    },
  },
  {
    name: 'account suspend',
    args: ['ACCOUNT'],
    options: {},
    doc:
      'Refuses all further mail of an account at once, and holds its scheduled mail. Mail that is already queued is still delivered, ' +
      'and the account can still read.',
    async run(input, services) {
      const account = await services.accounts.change(argument(input, 0), { status: 'suspended' })
      services.log.warn({ accountId: account.id }, 'account suspended')
      return shown(account, services, `The account ${account.name} is suspended.\n`)
    },
  },
  {
    name: 'account resume',
    args: ['ACCOUNT'],
    options: {},
    doc: 'Lets a suspended account send again. Scheduled mail that was held is sent at once, unless it has expired.',
    async run(input, services) {
      const account = await services.accounts.change(argument(input, 0), { status: 'active' })
      services.log.info({ accountId: account.id }, 'account resumed')
      return shown(account, services, `The account ${account.name} may send again.\n`)
    },
  },
  {
    name: 'account plan',
    args: ['ACCOUNT', 'PLAN'],
    options: {},
    doc: 'Moves an account to another plan of the setting plans.',
    async run(input, services) {
      const plan = checkedPlan(argument(input, 1), services.config.plans)
      const account = await services.accounts.change(argument(input, 0), { plan })
      return shown(account, services, `The account ${account.name} is now on the plan ${account.plan}.\n`)
    },
  },
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
    async run(input, services) {
      const { accounts, sendingDomains, policies } = services
      const account = accounts.getAccount(argument(input, 0))
      const name = textOption(input, 'domain')
      const id = name === undefined ? account.id : sendingDomains.get(account.id, name).id
      const change = Object.fromEntries(periods.flatMap((period) => limitOption(input, period)))
      const changed = Object.keys(change).length > 0
      if (changed) await policies.change(mailQuota, id, change)
      const json = await quotaObject(id, services)
      const rows = periods.map((period) => {
        const { limit, used, remaining, resets_at: resetsAt } = json[period]
        return [period, String(limit ?? 'unlimited'), String(used ?? '-'), String(remaining ?? '-'), resetsAt]
      })
      return { stdout: table([['PERIOD', 'LIMIT', 'USED', 'REMAINING', 'RESETS'], ...rows]), json, objectId: id, changed }
    },
  },
  {
    name: 'account notices',
    args: ['ACCOUNT', 'on|off'],
    choices: { 'on|off': ['on', 'off'] },
    options: {},
    doc:
      'Turns delivery notices on or off: mail to the MAIL FROM address when a message submitted over SMTP fails or is delayed. The ' +
      "message's NOTIFY parameter says which (RFC 3461, RFC 3464).",
    async run(input, services) {
      const wanted = argument(input, 1)
      const account = services.accounts.getAccount(argument(input, 0))
      await services.policies.change(deliveryNotices, account.id, { wanted: wanted === 'on' })
      return shown(account, services, `Delivery notices of the account ${account.name} are ${wanted}.\n`)
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
      const json = await exportAccount({ account, directory, services, signal }, objectOf(account, services))
      const stderr = table([['FILE', 'LINES'], ...json.files.map(({ name, lines }) => [name, String(lines)])])
      return { stdout: `${directory}\n`, json: { ...json, directory }, stderr }
    },
  },
  {
    name: 'account delete',
    args: ['ACCOUNT'],
    options: {},
    doc:
      'Deletes an account without queued mail, together with its keys, users, webhooks, domains, templates and suppressions. The ' +
      'mail it has sent stays until retention removes it.',
    asks: (input) => `Delete the account ${argument(input, 0)} with its keys, users, webhooks, domains, templates and suppressions?`,
    async run(input, services) {
      const id = await removeAccount(argument(input, 0), services)
      services.log.warn({ accountId: id }, 'account deleted')
      return { stdout: `${id}\n`, json: deletedObject('account', id), objectId: id }
    },
  },
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

const objectOf = (account: Account, { config, policies }: CommandServices): object =>
  accountObject(account, { policies, plans: { byName: config.plans, standard: config.accounts.defaultPlan } })

const shown = (account: Account, services: CommandServices, stderr = ''): CommandOutput => ({
  stdout: `${account.id}\n`,
  json: objectOf(account, services),
  stderr,
  objectId: account.id,
})

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
