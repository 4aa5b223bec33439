import { SternaError } from '../errors.ts'
import { argument, isoTime, table, textOption } from './command.ts'
import type { Command } from './command.ts'

export const accountCommands: Command[] = [
  {
    name: 'account create',
    args: ['NAME'],
    options: { plan: { type: 'string', value: 'PLAN', doc: 'One of the setting plans; default: accounts.default_plan.' } },
    doc: 'Creates an account and prints its id.',
    async run(input, { accounts, config }) {
      const plan = textOption(input, 'plan') ?? config.accounts.defaultPlan
      if (!Object.hasOwn(config.plans, plan)) {
        const plans = Object.keys(config.plans).join(', ')
        throw new SternaError('validation_error', `There is no plan "${plan}"; choose one of ${plans}.`)
      }
      const account = await accounts.create(argument(input, 0), plan)
      return { stdout: `${account.id}\n` }
    },
  },
  {
    name: 'account list',
    args: [],
    options: {},
    doc: 'Lists the accounts.',
    async run(_input, { accounts }) {
      const rows = accounts.list().map(({ id, name, plan, status, createdAt }) => [id, name, plan, status, isoTime(createdAt)])
      return { stdout: table([['ID', 'NAME', 'PLAN', 'STATUS', 'CREATED'], ...rows]) }
    },
  },
  {
    name: 'account suspend',
    args: ['ACCOUNT'],
    options: {},
    doc: 'Refuses all further mail and requests of an account. What is accepted already is still delivered.',
    async run(input, { accounts, log }) {
      const account = await accounts.setStatus(argument(input, 0), 'suspended')
      log.warn({ accountId: account.id }, 'account suspended')
      return { stdout: `${account.id}\n` }
    },
  },
  {
    name: 'account resume',
    args: ['ACCOUNT'],
    options: {},
    doc: 'Lets a suspended account send again.',
    async run(input, { accounts, log }) {
      const account = await accounts.setStatus(argument(input, 0), 'active')
      log.info({ accountId: account.id }, 'account resumed')
      return { stdout: `${account.id}\n` }
    },
  },
]
