import type { User } from '../../senders/account/user.ts'
import type { invitedUser, userResource } from '../../api/resource/user-operations.ts'
import { apiCommand } from './api-command.ts'
import { accountIfGiven } from './command-scope.ts'
import type { CommandServices } from './command-services.ts'
import { accountOption, argument, type Command, type CommandInput, type CommandOutput } from './command.ts'

type ShownUser = ReturnType<typeof userResource.answer>
type InvitedUser = ReturnType<typeof invitedUser.answer>

const operator = { field: 'operator', type: 'boolean', doc: 'Also grants access to the server-wide routes.' } as const

const userIn = (input: CommandInput, { people }: CommandServices): User => people.users.get(argument(input, 0))

/** The argument EMAIL. */
const ofOwner = { field: 'id', as: (_typed: string, { id }: User) => id } as const

/** Whoever may run commands may do everything, so they can also let a locked-out user back in. */
export const userCommands: Command[] = [
  apiCommand<InvitedUser>({
    name: 'user invite',
    does: 'users.invite',
    args: { EMAIL: 'email' },
    options: { role: { field: 'role', doc: 'What the user may do; default: member.' }, operator, 'account-id': null },
    sets: { role: 'member' },
    doc: 'Invites a user and prints the link for setting a password. The link works once, for a week.',
    show: invitation,
  }),
  apiCommand<InvitedUser, User>({
    name: 'user reset',
    does: 'users.reinvite',
    args: { EMAIL: ofOwner },
    of: userIn,
    doc:
      'Prints a new link for a user who has lost the invitation, the password or the second factor. The old ones stop working when it ' +
      'is used.',
    show: invitation,
  }),
  apiCommand<{ data: ShownUser[] }>({
    name: 'user list',
    does: 'users.list',
    options: {
      account: {
        ...accountOption,
        field: 'account_id',
        doc: 'Name or id of the account; default: all accounts.',
        required: false,
        as: (_typed, { accountId }) => accountId,
      },
    },
    of: accountIfGiven,
    whole: true,
    doc: 'Lists the users.',
    columns: {
      ID: ({ id }) => id,
      EMAIL: ({ email }) => email,
      ROLE: ({ role }) => role,
      OPERATOR: ({ operator: isOperator }) => (isOperator ? 'operator' : '-'),
      STATUS: ({ status }) => status,
      ACCOUNT: ({ account_id: id }, { services: { accounts } }) => accounts.accountFor(id)?.name ?? id,
      'LAST LOGIN': ({ last_login_at: at }) => at ?? '-',
    },
  }),
  apiCommand<ShownUser, User>({
    name: 'user role',
    does: 'users.update',
    args: { EMAIL: ofOwner, ROLE: 'role' },
    options: { operator: { ...operator, doc: 'Also grants access to the server-wide routes; without it, access is removed.' } },
    sets: { operator: false },
    of: userIn,
    doc: 'Changes what a user may do.',
    show: ({ id, email, role, operator: isOperator }) => ({
      stdout: `${id}\n`,
      stderr: `${email} is ${role}${isOperator ? ' and operator' : ', not operator'}.\n`,
    }),
  }),
  apiCommand<{ id: string }, User>({
    name: 'user remove',
    does: 'users.delete',
    args: { EMAIL: ofOwner },
    of: userIn,
    doc: 'Removes a user at once, with all sessions.',
    asks: (input) => `Remove the user ${argument(input, 0)} with all sessions?`,
    show: ({ id }, { owner: { email } }) => ({ stdout: `${id}\n`, stderr: `${email} is removed.\n` }),
  }),
]

function invitation({ email, invitation_url: url, invitation_expires_at: expiresAt }: InvitedUser): Partial<CommandOutput> {
  return {
    stdout: `${url}\n`,
    stderr: `${email} has until ${expiresAt} to use it. Pass it on yourself: Sterna sends no mail about it.\n`,
  }
}
