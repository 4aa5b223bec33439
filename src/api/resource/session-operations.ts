import { z } from 'zod'
import type { Session } from '../../senders/account/sessions.ts'
import type { StoredUser, User } from '../../senders/account/user.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { originOf } from '../operation/caller.ts'
import { smallBodyLimit } from '../operation/body-limits.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { deletedAnswer, resource, time, timeAnswer } from '../operation/resource.ts'
import { browserHeaders, type BrowserCall } from './session-entry.ts'
import { userResource } from './user-operations.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'refusedLogins' | 'login' | 'sessions' | 'entry' | 'accounts'>

const sessionFields = {
  object: 'session',
  id: z.string(),
  address: z.string().describe('Where the login came from.'),
  user_agent: z.string(),
  created_at: time(),
  last_seen_at: time('When it was last exchanged for a token.'),
} as const
export const sessionResource = resource<Session & { user: User }>('Session')({
  ...sessionFields,
  user: [userResource.schema, ({ user }) => userResource.answer(user)],
})
export const sessionItem = resource<Session & { current: boolean }>('SessionItem')({
  ...sessionFields,
  current: z.boolean().describe('Whether this request uses it.'),
})
const tokenAnswer = z
  .object({ object: z.literal('session_token'), token: z.string(), account_id: z.string(), sandbox: z.boolean(), expires_at: timeAnswer })
  .meta({ id: 'SessionToken' })
const endedAnswer = deletedAnswer('session', 'EndedSession')

const credentials = z.object({
  email: z.string().max(320),
  password: z.string().max(1000),
  code: z.string().max(100).optional().describe('From the authenticator app, or a recovery code; required with a second factor.'),
  account_id: z
    .string()
    .optional()
    .describe('If several accounts have a user with this address and password: which one. Without it, the last to have logged in.'),
})
const tokenWish = z.object({
  sandbox: z.boolean().default(false).describe('For the sandbox instead of live data. Such a token changes nothing live.'),
  account_id: z.string().optional().describe("An account other than your own; operators only. It is recorded in that account's audit log."),
})

const at = operationsAt({ path: '/session', tag: 'Session', permission: null, headers: browserHeaders })

/** `/session`: how people log in. Only these endpoints accept the session cookie; the API accepts the tokens that it is exchanged for. */
export const sessionOperations = (services: Services): Operation[] => [
  at.post('session.create', '', 'Log in', {
    description: 'The response sets the session cookie.',
    body: { schema: credentials, limit: smallBodyLimit, example: { email: 'ann@example.com', password: 'correct horse battery' } },
    answer: ['The session.', sessionResource.schema],
    refuses: ['invalid_credentials', 'invalid_session', 'second_factor_required', 'foreign_origin', 'rate_limit_exceeded'],
    handle: async (call) => {
      services.entry.checkOrigin(call)
      return logIn(
        call,
        'session.create',
        services.login.verify(
          { ...call.body, accountId: call.body.account_id },
          { address: originOf(call.caller).address, device: services.entry.deviceOf(call) },
        ),
        services,
      )
    },
  }),
  at.get('session.get', '', 'Read who is logged in', {
    answer: ['The session.', sessionResource.schema],
    refuses: ['invalid_session'],
    handle: async (call) => {
      const { session, user } = await services.entry.current(call)
      return sessionResource.answer({ ...session, user })
    },
  }),
  at.post('session.create_token', '/token', 'Get a token for the API', {
    description: 'Works for 15 minutes as `Authorization: Bearer`, with the permissions of the user.',
    body: { schema: tokenWish, limit: smallBodyLimit, optional: true },
    answer: ['The token.', tokenAnswer],
    refuses: ['invalid_session', 'foreign_origin', 'not_found'],
    handle: async (call) => {
      const { session, user } = await services.entry.changing(call)
      const accountId = accountFor(user, call.body.account_id, services)
      if (accountId !== user.accountId)
        await services.entry.record(call, user, { operation: 'session.create_token', objectId: session.id, accountId })
      const { token, sandbox, expiresAt } = await services.sessions.exchange(session, { sandbox: call.body.sandbox, accountId })
      return { object: 'session_token' as const, token, account_id: accountId, sandbox, expires_at: isoTime(expiresAt) }
    },
  }),
  at.remove('session.delete', '', 'Log out', {
    description: 'Ends the session and its tokens.',
    answer: ['The session has ended.', endedAnswer],
    refuses: ['invalid_session', 'foreign_origin'],
    handle: async (call) => {
      const { session, user } = await services.entry.changing(call)
      await services.entry.end(call, session)
      await services.entry.record(call, user, { operation: 'session.delete', objectId: session.id })
      return { object: 'session' as const, id: session.id, deleted: true as const }
    },
  }),
  at.get('session.list', '/all', 'List your sessions', {
    answer: ['All of them, oldest first.', listOf(sessionItem.schema)],
    refuses: ['invalid_session'],
    handle: async (call) => {
      const { session, user } = await services.entry.current(call)
      const own = await services.sessions.list(user.id)
      return wholeList(own.map((one) => sessionItem.answer({ ...one, current: one.id === session.id })))
    },
  }),
  at.remove('session.revoke', '/all/{id}', 'End one of your sessions', {
    answer: ['The session has ended.', endedAnswer],
    refuses: ['invalid_session', 'foreign_origin', 'not_found'],
    handle: async (call) => {
      const { user } = await services.entry.changing(call)
      const session = (await services.sessions.list(user.id)).find(({ id }) => id === call.params.id)
      if (!session) throw new SternaError('not_found', 'You have no such session.')
      await services.sessions.end(session.id)
      await services.entry.record(call, user, { operation: 'session.revoke', objectId: session.id })
      return { object: 'session' as const, id: session.id, deleted: true as const }
    },
  }),
]

/** Begins a session for the user once verified, and sets its cookie. A refusal is noted for the operator. */
export async function logIn(
  call: BrowserCall,
  operation: string,
  verified: Promise<StoredUser>,
  { entry, refusedLogins }: Pick<Services, 'entry' | 'refusedLogins'>,
) {
  call.reply.set('Cache-Control', 'no-store')
  const user = await verified.catch((error: unknown) => {
    if (error instanceof SternaError && error.code === 'invalid_credentials') refusedLogins.note('login refused', originOf(call.caller))
    throw error
  })
  const session = await entry.begin(call, user)
  await entry.record(call, user, { operation, objectId: session.id })
  return sessionResource.answer({ ...session, user })
}

/**
 * The account that a user wants to act in.
 * @throws SternaError `not_found` unless it is the user's own, or the user is an operator
 */
function accountFor(user: User, wanted: string | undefined, { accounts }: Pick<Services, 'accounts'>): string {
  if (wanted === undefined || wanted === user.accountId) return user.accountId
  if (user.operator && accounts.accountFor(wanted)) return wanted
  throw new SternaError('not_found', 'There is no such account.')
}
