import { z } from 'zod'
import type { ApiKey } from '../../account/api-key.ts'
import type { ApiKeys } from '../../account/api-keys.ts'
import { permissions } from '../../account/permission.ts'
import { SternaError } from '../../errors.ts'
import { isoTime } from '../../iso-time.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import { requirePermission, type ApiContext } from '../api-state.ts'
import { listOperation } from '../list-operation.ts'
import { operation, type Operation } from '../operation.ts'
import { pageFrom } from '../page.ts'
import { deletedAnswer, referenceTo, resource, time, timeOrNull } from '../resource.ts'
import { timeAnswer, timeField } from '../time-field.ts'

export interface ApiKeyServices {
  apiKeys: ApiKeys
  sendingDomains: Pick<SendingDomains, 'get'>
}

/** A key as the API and the command line show it. */
export const apiKey = resource<ApiKey>('ApiKey')({
  object: 'api_key',
  id: z.string(),
  name: z.string(),
  permission: z.enum(permissions),
  domain_id: z.string().nullable().describe('The only domain it may send from; null means all of the account.'),
  sandbox: z.boolean(),
  prefix: z.string().describe('How its token begins.'),
  created_at: time(),
  last_used_at: timeOrNull(),
  expires_at: timeOrNull(),
})
const token = z.string().describe('Shown this once: only its SHA-256 is kept.')
const reference = referenceTo('api_key')

const daySeconds = 86_400
const keyName = z.string().trim().min(1).max(100)
const newKey = z.object({
  name: keyName,
  permission: z.enum(permissions).optional().describe('`full_access` if left out, with a `domain_id` `sending_access`.'),
  domain_id: z.string().nullish().describe('Lets the key send from this domain of the account only; with `sending_access`.'),
  expires_at: timeField.nullish().describe('From then on the key is refused; if left out, when the key expires that makes it.'),
  sandbox: z
    .boolean()
    .optional()
    .describe('Nothing sent with the key leaves the server, and it changes nothing live. A sandbox key makes no others.'),
})
const rotation = z.object({
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * daySeconds)
    .default(daySeconds)
    .describe('For so long the token before works too.'),
  force: z.boolean().default(false).describe('Rotates even while the overlap of an earlier rotation runs, and ends that overlap.'),
})

/** `/api/api-keys`. A sandbox key sees and makes sandbox keys only. */
export const apiKeyOperations = (services: ApiKeyServices): Operation[] => [
  operation({
    id: 'api_keys.create',
    method: 'POST',
    path: '/api/api-keys',
    tag: 'API keys',
    summary: 'Make an API key',
    description: 'A key can make keys that hold no more than itself.',
    permission: 'full_access',
    idempotency: 'secret',
    sandbox: true,
    body: { schema: newKey, example: { name: 'shop', permission: 'sending_access' } },
    answers: [
      { status: 201, description: 'The key, with its token.', schema: reference.extend({ token }).meta({ id: 'ApiKeyWithToken' }) },
    ],
    handle: async (ctx, { body }) => {
      const { accountId, confined } = ctx.state.submitter
      const permission = body.permission ?? (body.domain_id ? 'sending_access' : 'full_access')
      if (permission === 'operator' || permission === 'metrics') requirePermission(ctx, 'operator')
      const expiresAt = body.expires_at ?? ownExpiry(ctx, services)
      requireExpiry(ctx, expiresAt, services)
      const made = await services.apiKeys.create({
        accountId,
        name: body.name,
        permission,
        domainId: body.domain_id ? ownDomain(services, accountId, body.domain_id) : null,
        sandbox: confined || body.sandbox === true,
        expiresAt,
      })
      return { object: 'api_key' as const, ...made }
    },
  }),
  listOperation({
    id: 'api_keys.list',
    path: '/api/api-keys',
    tag: 'API keys',
    summary: 'List API keys',
    permission: 'full_access',
    of: apiKey,
    answer: 'The keys in force, the newest first.',
    rows: (ctx, page) => {
      const { accountId, confined } = ctx.state.submitter
      const seen = services.apiKeys.list(accountId).filter((key) => key.confined || !confined)
      return pageFrom(seen, page)
    },
  }),
  ...oneKeyOperations(services),
]

const oneKeyOperations = (services: ApiKeyServices): Operation[] => [
  operation({
    id: 'api_keys.update',
    method: 'PATCH',
    path: '/api/api-keys/{id}',
    tag: 'API keys',
    summary: 'Rename an API key',
    permission: 'full_access',
    sandbox: true,
    body: { schema: z.object({ name: keyName }), example: { name: 'shop' } },
    answers: [{ status: 200, description: 'The key.', schema: reference.meta({ id: 'ApiKeyReference' }) }],
    handle: async (ctx, { body }) => {
      const { id } = keyOf(ctx, services)
      await services.apiKeys.rename(id, body.name)
      return { object: 'api_key' as const, id }
    },
  }),
  operation({
    id: 'api_keys.rotate',
    method: 'POST',
    path: '/api/api-keys/{id}/rotate',
    tag: 'API keys',
    summary: 'Give an API key a new token',
    permission: 'full_access',
    idempotency: 'secret',
    sandbox: true,
    body: { schema: rotation, optional: true },
    answers: [
      {
        status: 200,
        description: 'The key, with its new token.',
        schema: reference
          .extend({ token, previous_expires_at: timeAnswer.describe('Until then the token before works.') })
          .meta({ id: 'RotatedApiKey' }),
      },
    ],
    refuses: ['rotation_in_progress'],
    handle: async (ctx, { body }) => {
      const { id, expiresAt } = keyOf(ctx, services)
      requireExpiry(ctx, expiresAt, services)
      const rotated = await services.apiKeys.rotate(id, { overlapMs: body.overlap_seconds * 1000, force: body.force })
      const previous = isoTime(rotated.previousExpiresAt)
      return { object: 'api_key' as const, id, token: rotated.token, previous_expires_at: previous }
    },
  }),
  operation({
    id: 'api_keys.delete',
    method: 'DELETE',
    path: '/api/api-keys/{id}',
    tag: 'API keys',
    summary: 'Revoke an API key',
    description: 'At once, in open SMTP sessions too.',
    permission: 'full_access',
    sandbox: true,
    answers: [
      {
        status: 200,
        description: 'It is revoked.',
        schema: deletedAnswer('api_key', 'DeletedApiKey'),
      },
    ],
    handle: async (ctx) => {
      const { id } = keyOf(ctx, services)
      await services.apiKeys.revoke(id)
      return { object: 'api_key' as const, id, deleted: true as const }
    },
  }),
]

/**
 * The key of the path, as far as the request's holder sees it and holds as much.
 * @throws SternaError `not_found`, `restricted_api_key`
 */
function keyOf(ctx: ApiContext, { apiKeys }: ApiKeyServices): ApiKey {
  const { accountId, confined } = ctx.state.submitter
  const key = apiKeys.list(accountId).find(({ id }) => id === ctx.params['id'])
  if (!key || (confined && !key.confined)) throw new SternaError('not_found', 'This account has no such API key.')
  requirePermission(ctx, key.permission)
  return key
}

/** When the key of the request expires; null where it never does, or a user asks. */
const ownExpiry = (ctx: ApiContext, { apiKeys }: ApiKeyServices): number | null => {
  const { actor } = ctx.state.submitter
  return actor.type === 'key' && actor.id !== null ? apiKeys.get(actor.id).expiresAt : null
}

/**
 * Demands that a key whose token is given out lasts no longer than the one that asks for it.
 * @throws SternaError `restricted_api_key`
 */
function requireExpiry(ctx: ApiContext, expiresAt: number | null, services: ApiKeyServices): void {
  const own = ownExpiry(ctx, services)
  if (own === null || (expiresAt !== null && expiresAt <= own)) return
  throw new SternaError('restricted_api_key', 'This API key may not do this: it expires before the key that it would give out.')
}

function ownDomain({ sendingDomains }: ApiKeyServices, accountId: string, idOrName: string): string {
  try {
    return sendingDomains.get(accountId, idOrName).id
  } catch (error) {
    if (!(error instanceof SternaError) || error.code !== 'not_found') throw error
    const message = 'The `domain_id` field is not the id of a domain of this account.'
    throw new SternaError('validation_error', message, { faults: [{ field: 'domain_id', code: 'unknown_domain', message, help: null }] })
  }
}
