import { roles, type Role } from '../../senders/account/permission.ts'
import type { User } from '../../senders/account/user.ts'
import { invitedObject, userResource } from '../../api/http/api/user-operations.ts'
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
  type Command,
  type CommandOutput,
} from './command.ts'
import type { CommandServices } from './command-services.ts'

const role = { type: 'string', value: 'ROLE', doc: 'What the user may do; default: member.', choices: roles } as const
const operator = { type: 'boolean', doc: 'Also grants access to the server-wide routes.' } as const

/** Whoever may run commands may do everything, so they can also let a locked-out user back in. */
export const userCommands: Command[] = [
  {
    name: 'user invite',
    args: ['EMAIL'],
    options: { account, role, operator },
    doc: 'Invites a user and prints the link for setting a password. The link works once, for a week.',
    async run(input, services) {
      const { id } = services.accounts.getAccount(requiredOption(input, 'account'))
      const wanted = { email: argument(input, 0), accountId: id, role: roleOf(textOption(input, 'role') ?? 'member') }
      return invitation(await services.people.users.invite({ ...wanted, operator: flagOption(input, 'operator') }), services)
    },
  },
  {
    name: 'user reset',
    args: ['EMAIL'],
    options: {},
    doc:
      'Prints a new link for a user who has lost the invitation, the password or the second factor. The old ones stop working when it ' +
      'is used.',
    run: async (input, services) => invitation(await services.people.users.inviteAgain(argument(input, 0)), services),
  },
  {
    name: 'user list',
    reads: true,
    args: [],
    options: { account: { ...account, doc: 'Name or id of the account; default: all accounts.', required: false } },
    doc: 'Lists the users.',
    async run(input, { accounts, people }) {
      const name = textOption(input, 'account')
      const users = people.users.list(name === undefined ? undefined : accounts.getAccount(name).id)
      const rows = users.map((user) => [
        user.id,
        user.email,
        user.role,
        user.operator ? 'operator' : '-',
        user.status,
        accounts.accountFor(user.accountId)?.name ?? user.accountId,
        shownTime(user.lastLoginAt),
      ])
      const heading = ['ID', 'EMAIL', 'ROLE', 'OPERATOR', 'STATUS', 'ACCOUNT', 'LAST LOGIN']
      return { stdout: table([heading, ...rows]), json: listObject(users.map(userResource.answer)) }
    },
  },
  {
    name: 'user role',
    args: ['EMAIL', 'ROLE'],
    choices: { ROLE: roles },
    options: { operator: { ...operator, doc: 'Also grants access to the server-wide routes; without it, access is removed.' } },
    doc: 'Changes what a user may do.',
    async run(input, { people }) {
      const { id, email } = people.users.get(argument(input, 0))
      const role = roleOf(argument(input, 1))
      const isOperator = flagOption(input, 'operator')
      const user = await people.users.change(id, { role, operator: isOperator })
      const stderr = `${email} is ${role}${isOperator ? ' and operator' : ', not operator'}.\n`
      return { stdout: `${id}\n`, json: userResource.answer(user), stderr, objectId: id }
    },
  },
  {
    name: 'user remove',
    args: ['EMAIL'],
    options: {},
    doc: 'Removes a user at once, with all sessions.',
    asks: (input) => `Remove the user ${argument(input, 0)} with all sessions?`,
    async run(input, { people }) {
      const { id, email } = people.users.get(argument(input, 0))
      await people.users.remove(id)
      await people.sessions.endAll(id)
      return { stdout: `${id}\n`, json: deletedObject('user', id), stderr: `${email} is removed.\n`, objectId: id }
    },
  },
]

const invitation = ({ user, token }: { user: User; token: string }, { config }: CommandServices): CommandOutput => ({
  stdout: `${config.baseUrl}/invite/${token}\n`,
  json: invitedObject({ user, token }, config),
  stderr: `${user.email} has until ${shownTime(user.invitationExpiresAt)} to use it. Pass it on yourself: Sterna sends no mail about it.\n`,
  objectId: user.id,
})

/** The command line takes no other. */
const roleOf = (given: string): Role => roles.find((known) => known === given) ?? 'member'
