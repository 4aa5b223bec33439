import { z } from 'zod'
import type { Accounts } from '../../../senders/account/accounts.ts'
import type { Login } from '../../../senders/account/login.ts'
import type { RefusedLogins } from '../../../senders/account/refused-logins.ts'
import type { Session, Sessions } from '../../../senders/account/sessions.ts'
import type { StoredUser, User } from '../../../senders/account/user.ts'
import { SternaError } from '../../../platform/errors.ts'
import { isoTime } from '../../../platform/iso-time.ts'
import type { ApiContext } from '../api-state.ts'
import { smallBodyLimit } from '../json-body.ts'
import { operation, type Operation } from '../operation.ts'
import { listOf } from '../page.ts'
import { deletedAnswer, resource, time } from '../resource.ts'
import type { SessionEntry } from '../session-entry.ts'
import { timeAnswer } from '../time-field.ts'
import { userResource } from './user-operations.ts'

export interface SessionServices {
  refusedLogins: Pick<RefusedLogins, 'note'>
  login: Login
  sessions: Sessions
  entry: SessionEntry
  accounts: Accounts
}

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

const shared = { tag: 'Session', permission: null } as const

/** `/session`: how people log in. Only these endpoints accept the session cookie; the API accepts the tokens that it is exchanged for. */
export const sessionOperations = (services: SessionServices): Operation[] => [
  operation({
    ...shared,
    id: 'session.create',
    method: 'POST',
    path: '/session',
    summary: 'Log in',
    description: 'The response sets the session cookie.',
    body: { schema: credentials, limit: smallBodyLimit, example: { email: 'ann@example.com', password: 'correct horse battery' } },
    answers: [{ status: 200, description: 'The session.', schema: sessionResource.schema }],
    refuses: ['invalid_credentials', 'invalid_session', 'second_factor_required', 'foreign_origin', 'rate_limit_exceeded'],
    handle: async (ctx, { body }) => {
      services.entry.checkOrigin(ctx)
      return logIn(
        ctx,
        'session.create',
        services.login.verify(
          { ...body, accountId: body.account_id },
          { address: ctx.state.clientAddress, device: services.entry.deviceOf(ctx) },
        ),
        services,
      )
    },
  }),
  operation({
    ...shared,
    id: 'session.get',
    method: 'GET',
    path: '/session',
    summary: 'Read who is logged in',
    answers: [{ status: 200, description: 'The session.', schema: sessionResource.schema }],
    refuses: ['invalid_session'],
    handle: (ctx) => {
      const { session, user } = services.entry.current(ctx)
      return sessionResource.answer({ ...session, user })
    },
  }),
  operation({
    ...shared,
    id: 'session.create_token',
    method: 'POST',
    path: '/session/token',
    summary: 'Get a token for the API',
    description: 'Works for 15 minutes as `Authorization: Bearer`, with the permissions of the user.',
    body: { schema: tokenWish, limit: smallBodyLimit, optional: true },
    answers: [{ status: 200, description: 'The token.', schema: tokenAnswer }],
    refuses: ['invalid_session', 'foreign_origin', 'not_found'],
    handle: async (ctx, { body }) => {
      services.entry.checkOrigin(ctx)
      const { session, user } = services.entry.current(ctx)
      const accountId = accountFor(user, body.account_id, services)
      if (accountId !== user.accountId)
        await services.entry.record(ctx, user, { operation: 'session.create_token', objectId: session.id, accountId })
      const { token, sandbox, expiresAt } = await services.sessions.exchange(session, { sandbox: body.sandbox, accountId })
      return { object: 'session_token' as const, token, account_id: accountId, sandbox, expires_at: isoTime(expiresAt) }
    },
  }),
  ...endingOperations(services),
]

/** Begins a session for the user once verified, and sets its cookie. A refusal is noted for the operator. */
export async function logIn(
  ctx: ApiContext,
  operation: string,
  verified: Promise<StoredUser>,
  { entry, refusedLogins }: Pick<SessionServices, 'entry' | 'refusedLogins'>,
) {
  ctx.set('Cache-Control', 'no-store')
  const { clientAddress: address, requestId } = ctx.state
  const user = await verified.catch((error: unknown) => {
    if (error instanceof SternaError && error.code === 'invalid_credentials') refusedLogins.note('login refused', { address, requestId })
    throw error
  })
  const session = await entry.begin(ctx, user)
  await entry.record(ctx, user, { operation, objectId: session.id })
  return sessionResource.answer({ ...session, user })
}

/**
 * The account that a user wants to act in.
 * @throws SternaError `not_found` unless it is the user's own, or the user is an operator
 */
function accountFor(user: User, wanted: string | undefined, { accounts }: Pick<SessionServices, 'accounts'>): string {
  if (wanted === undefined || wanted === user.accountId) return user.accountId
  if (user.operator && accounts.accountFor(wanted)) return wanted
  throw new SternaError('not_found', 'There is no such account.')
}

const endingOperations = (services: SessionServices): Operation[] => [
  operation({
    ...shared,
    id: 'session.delete',
    method: 'DELETE',
    path: '/session',
    summary: 'Log out',
    description: 'Ends the session and its tokens.',
    answers: [{ status: 200, description: 'The session has ended.', schema: endedAnswer }],
    refuses: ['invalid_session', 'foreign_origin'],
    handle: async (ctx) => {
      services.entry.checkOrigin(ctx)
      const { session, user } = services.entry.current(ctx)
      await services.entry.end(ctx, session)
      await services.entry.record(ctx, user, { operation: 'session.delete', objectId: session.id })
      return { object: 'session' as const, id: session.id, deleted: true as const }
    },
  }),
  operation({
    ...shared,
    id: 'session.list',
    method: 'GET',
    path: '/session/all',
    summary: 'List your sessions',
    answers: [{ status: 200, description: 'All of them, oldest first.', schema: listOf(sessionItem.schema) }],
    refuses: ['invalid_session'],
    handle: (ctx) => {
      const { session: own, user } = services.entry.current(ctx)
      const data = services.sessions.list(user.id).map((session) => sessionItem.answer({ ...session, current: session.id === own.id }))
      return { object: 'list' as const, has_more: false, data }
    },
  }),
  operation({
    ...shared,
    id: 'session.revoke',
    method: 'DELETE',
    path: '/session/all/{id}',
    summary: 'End one of your sessions',
    answers: [{ status: 200, description: 'The session has ended.', schema: endedAnswer }],
    refuses: ['invalid_session', 'foreign_origin', 'not_found'],
    handle: async (ctx) => {
      services.entry.checkOrigin(ctx)
      const { user } = services.entry.current(ctx)
      const session = services.sessions.list(user.id).find(({ id }) => id === ctx.params['id'])
      if (!session) throw new SternaError('not_found', 'You have no such session.')
      await services.sessions.end(session.id)
      await services.entry.record(ctx, user, { operation: 'session.revoke', objectId: session.id })
      return { object: 'session' as const, id: session.id, deleted: true as const }
    },
  }),
]
