import { z } from 'zod'
import type { SmarthostGrant } from '../../mail-out/oauth/smarthost-grant.ts'
import type { SmarthostTokens, TokenState } from '../../mail-out/oauth/smarthost-tokens.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

const smarthostLogin = resource<TokenState & SmarthostGrant & { now: number }>('SmarthostLogin')({
  object: 'smarthost_login',
  user: z.string(),
  provider: z.enum(['microsoft', 'google', 'other']),
  grant: z.enum(['client_credentials', 'refresh_token']),
  token_url: [z.string(), 'tokenUrl'],
  state: [
    z
      .enum(['ready', 'waiting', 'off'])
      .describe('`ready`: there is an access token. `waiting`: there is none yet, and it is tried again. `off`: a human is needed.'),
    ({ isOff, hasToken, expiresAt, now }) => (isOff ? 'off' : hasToken && now < expiresAt ? 'ready' : 'waiting'),
  ],
  trouble: [z.string().nullable().describe('Why the last fetch of an access token failed; null: it did not.'), 'trouble'],
  fetched_at: [timeAnswer.nullable().describe('When the access token was fetched.'), ({ fetchedAt }) => isoTimeOrNull(fetchedAt)],
  expires_at: [timeAnswer.nullable(), ({ hasToken, expiresAt }) => isoTimeOrNull(hasToken ? expiresAt : null)],
  next_fetch_at: [timeAnswer.nullable().describe('Null: not by itself.'), ({ dueAt }) => isoTimeOrNull(dueAt)],
})

const allowed = z
  .strictObject({
    address: z.string().optional().describe('Where the browser was sent once the person had agreed: http://localhost/?code=…'),
    refresh_token: z.string().min(1).optional().describe('One that was got in another way.'),
  })
  .refine(({ address, refresh_token: refreshToken }) => (address === undefined) !== (refreshToken === undefined), {
    error: 'must have either address or refresh_token.',
    params: { code: 'invalid_field' },
  })

const authorization = z
  .object({ object: z.literal('smarthost_authorization'), url: z.string().describe('The page of the provider.') })
  .meta({ id: 'SmarthostAuthorization' })

const at = operationsAt({ path: '/api/smarthost', tag: 'Operation', permission: 'operator' })

/** `/api/smarthost`: the login to the smarthost by OAuth 2. */
export const smarthostOperations = (services: Needs<'smarthostTokens' | 'outgoingRequests' | 'clock'>): Operation[] => {
  const tokens = services.smarthostTokens
  const answerOf = (state: TokenState) => smarthostLogin.answer({ ...grantOf(tokens), ...state, now: services.clock.now() })
  return [
    at.get('smarthost.get', '', 'Read the login to the smarthost', {
      description: 'By OAuth 2, if `delivery.smarthost_oauth` is set. Tokens are not shown.',
      refuses: ['invalid_state'],
      answer: ['What is known of its access token.', smarthostLogin.schema],
      handle: async () => {
        grantOf(tokens)
        return answerOf(await tokens.state())
      },
    }),
    at.post('smarthost.retry', '/retry', 'Ask for another access token for the smarthost', {
      description: 'At once, also if the provider has refused: call it once you have corrected what it complains of.',
      refuses: ['invalid_state', 'rate_limit_exceeded'],
      answer: ['What is known then; it has a `trouble` if none was given.', smarthostLogin.schema],
      handle: async ({ caller }) => {
        grantOf(tokens)
        return answerOf(await services.outgoingRequests.run(caller.accountId, () => tokens.retry()))
      },
    }),
    at.post('smarthost.authorize', '/authorize', 'Begin to let Sterna send by a mailbox', {
      description:
        'For the grant `refresh_token`. The owner of the mailbox opens the page and agrees. The browser then goes to an address at ' +
        '`http://localhost`, where nothing answers: hand that address to `smarthost.connect`.',
      refuses: ['invalid_state'],
      answer: ['Where the owner of the mailbox agrees.', authorization],
      handle: async () => ({ object: 'smarthost_authorization' as const, url: tokens.authorizationUrl() }),
    }),
    at.post('smarthost.connect', '/connect', 'Let Sterna send by a mailbox', {
      description: 'Fetches the tokens, and keeps them sealed. Nothing changes if the provider refuses.',
      body: { schema: allowed, example: { address: 'http://localhost/?code=0.AX8A…&state=h2p…' } },
      refuses: ['invalid_state', 'rate_limit_exceeded'],
      answer: ['What is known of the access token.', smarthostLogin.schema],
      handle: async ({ caller, body: { address, refresh_token: refreshToken } }) => {
        const given = address === undefined ? { refreshToken: refreshToken ?? '' } : { address }
        return answerOf(await services.outgoingRequests.run(caller.accountId, () => tokens.connect(given)))
      },
    }),
  ]
}

/** @throws SternaError `invalid_state` if the smarthost is not logged in to by OAuth 2 */
function grantOf({ grant }: Pick<SmarthostTokens, 'grant'>): SmarthostGrant {
  if (grant) return grant
  throw new SternaError('invalid_state', 'There is no login to a smarthost by OAuth 2: delivery.smarthost_oauth is not set.')
}
