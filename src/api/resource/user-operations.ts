import { z } from 'zod'
import { roles, type Role } from '../../senders/account/permission.ts'
import type { User } from '../../senders/account/user.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { CallTo } from '../operation/call.ts'
import { mayDo, type Caller } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { pageFrom } from '../operation/page.ts'
import { textParameter } from '../operation/query.ts'
import { deletedAnswer, resource, time, timeOrNull, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'users' | 'sessions' | 'baseUrl'>

export const userResource = resource<User>('User')({
  object: 'user',
  id: z.string(),
  account_id: z.string(),
  email: z.string(),
  role: z.enum(roles).describe('Owners and admins may do everything in the account, members may send and read, viewers may read.'),
  operator: z.boolean().describe('Whether the user may also use the server-wide routes.'),
  status: z.enum(['active', 'invited']).describe('`invited` until the user has set a password.'),
  second_factor: [z.boolean().describe('Whether a code is required in addition to the password.'), 'hasSecondFactor'],
  created_at: time(),
  last_login_at: timeOrNull(),
})
export const invitedUser = resource<User & { url: string }>('InvitedUser')({
  ...userResource.fields,
  invitation_url: [
    z.string().describe('Where the user sets a password; works once. Pass it on: the server sends no mail about it.'),
    'url',
  ],
  invitation_expires_at: [timeAnswer, (user) => isoTime(user.invitationExpiresAt ?? 0)],
})
const deleted = deletedAnswer('user', 'DeletedUser')

const newUser = z.object({
  email: z.string().max(320),
  role: z.enum(roles),
  operator: z.boolean().default(false).describe('Only operators can make somebody an operator.'),
  account_id: z.string().optional().describe("An account other than the caller's own; operators only."),
})
const userChanges = z.object({ role: z.enum(roles).optional(), operator: z.boolean().optional() })

const at = operationsAt({ path: '/api/users', tag: 'Users', permission: 'user_management' })

/**
 * `/api/users`: who can log in. No API key of an account can manage its users, so that a leaked key cannot establish itself. This
 * requires somebody who is logged in, or an operator.
 */
export const userOperations = (services: Services): Operation[] => [
  at.list('users.list', '', 'List users', {
    query: { account_id: textParameter.meta({ description: 'Only users of this account; operators see all accounts.' }) },
    answer: ['The users, newest first.', userResource],
    rows: ({ caller, query }, page) => {
      const seen = services.users.list(query.account_id ?? undefined).filter((user) => isSeen(caller, user))
      return pageFrom(seen, page)
    },
  }),
  at.post('users.invite', '', 'Invite a user', {
    idempotency: 'secret',
    body: { schema: newUser, example: { email: 'ann@example.com', role: 'member' } },
    answer: ['The user, with the link to pass on.', invitedUser.schema, 201],
    refuses: ['user_exists', 'not_found'],
    handle: async ({ caller, body }) => {
      const { accountId } = caller
      if (body.account_id !== undefined && body.account_id !== accountId && !mayDo(caller, 'operator')) throw noUser()
      checkGrant(caller, body, services)
      const wanted = { email: body.email, role: body.role, operator: body.operator, accountId: body.account_id ?? accountId }
      return invitedObject(await services.users.invite(wanted), services)
    },
  }),
  at.patch('users.update', '/{id}', 'Change the role of a user', {
    description: "Takes effect with the user's next request. The account always keeps an owner, and the server an operator.",
    body: { schema: userChanges, example: { role: 'admin' } },
    answer: ['The user.', userResource.schema],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const user = userOf(call, services)
      checkGrant(call.caller, call.body, services)
      return userResource.answer(await services.users.change(user.id, call.body))
    },
  }),
  at.post('users.reinvite', '/{id}/invitation', 'Invite a user again', {
    idempotency: 'secret',
    description:
      'Replaces the previous link. Also for somebody who has lost the password or the second factor: ' +
      'when the link is used, they are replaced and all sessions end.',
    answer: ['The user, with the link to pass on.', invitedUser.schema],
    handle: async (call) => invitedObject(await services.users.inviteAgain(userOf(call, services).id), services),
  }),
  at.remove('users.delete', '/{id}', 'Remove a user', {
    description: 'Takes effect at once, and ends all sessions.',
    answer: ['The user is removed.', deleted],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { id } = userOf(call, services)
      await services.users.remove(id)
      await services.sessions.endAll(id)
      return { object: 'user' as const, id, deleted: true as const }
    },
  }),
]

const isSeen = (caller: Caller, user: User): boolean => mayDo(caller, 'operator') || user.accountId === caller.accountId

const noUser = (): SternaError => new SternaError('not_found', 'There is no such user.')

/**
 * The user in the path, if the holder of the request may change them: only owners manage owners, and only operators manage operators.
 * @throws SternaError `not_found`, `restricted_api_key`
 */
function userOf(call: CallTo<'id'>, services: Services): User {
  const user = services.users.find(call.params.id)
  if (!user || !isSeen(call.caller, user)) throw noUser()
  checkGrant(call.caller, user, services)
  return user
}

/** @throws SternaError `restricted_api_key` */
function checkGrant(
  caller: Caller,
  { role, operator }: { role?: Role | undefined; operator?: boolean | undefined },
  { users }: Services,
): void {
  if (mayDo(caller, 'operator')) return
  const self = users.find(caller.actor.id ?? '')
  if (operator === true) throw new SternaError('restricted_api_key', 'Only an operator can change operators.')
  if (role === 'owner' && self?.role !== 'owner') throw new SternaError('restricted_api_key', 'Only an owner can change owners.')
}

/** A user with the link to pass on. */
const invitedObject = ({ user, token }: { user: User; token: string }, { baseUrl }: Pick<Services, 'baseUrl'>) =>
  invitedUser.answer({ ...user, url: `${baseUrl}/invite/${token}` })
