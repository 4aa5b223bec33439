import { removeAccount } from '../account-removal.ts'
import { checkedPlan } from '../account/plan.ts'
import { SternaError } from '../errors.ts'
import { argument, shownTime, table, textOption, type Command } from './command.ts'

export const accountCommands: Command[] = [
  {
    name: 'account create',
    args: ['NAME'],
    options: { plan: { type: 'string', value: 'PLAN', doc: 'One of the plans in the setting plans; default: accounts.default_plan.' } },
    doc: 'Creates an account and prints its id.',
    async run(input, { accounts, config }) {
      const plan = checkedPlan(textOption(input, 'plan') ?? config.accounts.defaultPlan, config.plans)
      const account = await accounts.create(argument(input, 0), plan)
      return { stdout: `${account.id}\n`, objectId: account.id }
    },
  },
  {
    name: 'account list',
    reads: true,
    args: [],
    options: {},
    doc: 'Lists the accounts.',
    async run(_input, { accounts }) {
      const rows = accounts.list().map(({ id, name, plan, status, createdAt }) => [id, name, plan, status, shownTime(createdAt)])
      return { stdout: table([['ID', 'NAME', 'PLAN', 'STATUS', 'CREATED'], ...rows]) }
    },
  },
  {
    name: 'account suspend',
    args: ['ACCOUNT'],
    options: {},
    doc:
      'Refuses all further mail of an account at once, and holds its scheduled mail. Mail that is already queued is still delivered, ' +
      'and the account can still read.',
    async run(input, { accounts, log }) {
      const account = await accounts.change(argument(input, 0), { status: 'suspended' })
      log.warn({ accountId: account.id }, 'account suspended')
      return { stdout: `${account.id}\n`, stderr: `The account ${account.name} is suspended.\n`, objectId: account.id }
    },
  },
  {
    name: 'account resume',
    args: ['ACCOUNT'],
    options: {},
    doc: 'Lets a suspended account send again. Scheduled mail that was held is sent at once, unless it has expired.',
    async run(input, { accounts, log }) {
      const account = await accounts.change(argument(input, 0), { status: 'active' })
      log.info({ accountId: account.id }, 'account resumed')
      return { stdout: `${account.id}\n`, stderr: `The account ${account.name} may send again.\n`, objectId: account.id }
    },
  },
  {
    name: 'account plan',
    args: ['ACCOUNT', 'PLAN'],
    options: {},
    doc: 'Moves an account to another plan of the setting plans.',
    async run(input, { accounts, config }) {
      const account = await accounts.change(argument(input, 0), { plan: checkedPlan(argument(input, 1), config.plans) })
      return {
        stdout: `${account.id}\n`,
        stderr: `The account ${account.name} is now on the plan ${account.plan}.\n`,
        objectId: account.id,
      }
    },
  },
  {
    name: 'account notices',
    args: ['ACCOUNT', 'on|off'],
    options: {},
    doc:
      'Turns delivery notices on or off: mail to the MAIL FROM address when a message submitted over SMTP fails or is delayed. The ' +
      "message's NOTIFY parameter says which (RFC 3461, RFC 3464).",
    async run(input, { accounts }) {
      const wanted = argument(input, 1)
      if (wanted !== 'on' && wanted !== 'off')
        throw new SternaError('invalid_parameter', `Delivery notices are on or off, not "${wanted}".`)
      const account = await accounts.change(argument(input, 0), { deliveryNotices: wanted === 'on' })
      return {
        stdout: `${account.id}\n`,
        stderr: `Delivery notices of the account ${account.name} are ${wanted}.\n`,
        objectId: account.id,
      }
    },
  },
  {
    name: 'account delete',
    args: ['ACCOUNT'],
    options: {},
    doc:
      'Deletes an account without queued mail, together with its keys, users, webhooks, domains, templates and suppressions. The ' +
      'mail it has sent stays until retention removes it.',
    async run(input, services) {
      const id = await removeAccount(argument(input, 0), services)
      services.log.warn({ accountId: id }, 'account deleted')
      return { stdout: `${id}\n`, objectId: id }
    },
  },
]
