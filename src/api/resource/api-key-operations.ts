import { z } from 'zod'
import type { ApiKey } from '../../senders/account/api-key.ts'
import { apiKeyObject } from '../../senders/account/api-key-object.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { CallTo } from '../operation/call.ts'
import { requirePermission, type Caller } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { pageFrom } from '../operation/page.ts'
import { deletedAnswer, referenceTo, resource, time, timeOrNull, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'apiKeys' | 'sendingDomains'>

/** A key as the API and the command line show it. */
export const apiKey = resource<ApiKey>('ApiKey')({
  object: 'api_key',
  id: z.string(),
  ...apiKeyObject.answer,
  prefix: z.string().describe('The first characters of its token.'),
  created_at: time(),
  last_used_at: timeOrNull(),
  expires_at: timeOrNull(),
})
const token = z.string().describe('Shown only once: Sterna keeps only its SHA-256.')
const reference = referenceTo('api_key')

const daySeconds = 86_400
const { name } = apiKeyObject.fields
const newKey = z.object({ ...apiKeyObject.request, name: name.type.describe(name.doc) })
const rotation = z.object({
  overlap_seconds: z
    .int()
    .min(0)
    .max(30 * daySeconds)
    .default(daySeconds)
    .describe('How long the old token still works.'),
  force: z
    .boolean()
    .default(false)
    .describe('Rotates even while the overlap of an earlier rotation is still running, and ends that overlap.'),
})

const at = operationsAt({ path: '/api/api-keys', tag: 'API keys', permission: 'full_access', sandbox: true })

/** `/api/api-keys`. A sandbox key sees and creates only sandbox keys. */
export const apiKeyOperations = (services: Services): Operation[] => [
  at.post('api_keys.create', '', 'Create an API key', {
    description: 'A key can create only keys with the same or fewer permissions.',
    idempotency: 'secret',
    body: { schema: newKey, example: { name: 'shop', permission: 'sending_access' } },
    answer: ['The key, with its token.', reference.extend({ token }).meta({ id: 'ApiKeyWithToken' }), 201],
    handle: async ({ caller, body }) => {
      const { accountId, confined } = caller
      const permission = body.permission ?? (body.domain_id ? 'sending_access' : 'full_access')
      if (permission === 'operator' || permission === 'metrics') requirePermission(caller, 'operator')
      const expiresAt = body.expires_at ?? ownExpiry(caller, services)
      requireExpiry(caller, expiresAt, services)
      const made = await services.apiKeys.create({
        ...apiKeyObject.membersIn(body),
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
  at.list('api_keys.list', '', 'List API keys', {
    answer: ['The valid keys, newest first.', apiKey],
    rows: ({ caller }, page) => {
      const { accountId, confined } = caller
      const seen = services.apiKeys.list(accountId).filter((key) => key.confined || !confined)
      return pageFrom(seen, page)
    },
  }),
  at.patch('api_keys.update', '/{id}', 'Rename an API key', {
    body: { schema: z.object({ name: name.type }), example: { name: 'shop' } },
    answer: ['The key.', reference.meta({ id: 'ApiKeyReference' })],
    handle: async (call) => {
      const { id } = keyOf(call, services)
      await services.apiKeys.change(id, { name: call.body.name })
      return { object: 'api_key' as const, id }
    },
  }),
  at.post('api_keys.rotate', '/{id}/rotate', 'Give an API key a new token', {
    idempotency: 'secret',
    body: { schema: rotation, optional: true },
    answer: [
      'The key, with its new token.',
      reference
        .extend({ token, previous_expires_at: timeAnswer.describe('When the old token stops working.') })
        .meta({ id: 'RotatedApiKey' }),
    ],
    refuses: ['rotation_in_progress'],
    handle: async (call) => {
      const { id, expiresAt } = keyOf(call, services)
      requireExpiry(call.caller, expiresAt, services)
      const rotated = await services.apiKeys.rotate(id, { overlapMs: call.body.overlap_seconds * 1000, force: call.body.force })
      const previous = isoTime(rotated.previousExpiresAt)
      return { object: 'api_key' as const, id, token: rotated.token, previous_expires_at: previous }
    },
  }),
  at.remove('api_keys.delete', '/{id}', 'Revoke an API key', {
    description: 'Takes effect at once, even in open SMTP sessions.',
    answer: ['The key is revoked.', deletedAnswer('api_key', 'DeletedApiKey')],
    handle: async (call) => {
      const { id } = keyOf(call, services)
      await services.apiKeys.revoke(id)
      return { object: 'api_key' as const, id, deleted: true as const }
    },
  }),
]

/**
 * The key in the path, if the holder of the request can see it and has at least its permissions.
 * @throws SternaError `not_found`, `restricted_api_key`
 */
function keyOf(call: CallTo<'id'>, { apiKeys }: Services): ApiKey {
  const { accountId, confined } = call.caller
  const key = apiKeys.list(accountId).find(({ id }) => id === call.params.id)
  if (!key || (confined && !key.confined)) throw new SternaError('not_found', 'This account has no such API key.')
  requirePermission(call.caller, key.permission)
  return key
}

/** When the key of the request expires; null if never, or if a user makes the request. */
const ownExpiry = (caller: Caller, { apiKeys }: Services): number | null => {
  const { actor } = caller
  return actor.type === 'key' && actor.id !== null ? apiKeys.get(actor.id).expiresAt : null
}

/**
 * Checks that the token handed out does not outlive the key that requests it.
 * @throws SternaError `restricted_api_key`
 */
function requireExpiry(caller: Caller, expiresAt: number | null, services: Services): void {
  const own = ownExpiry(caller, services)
  if (own === null || (expiresAt !== null && expiresAt <= own)) return
  throw new SternaError('restricted_api_key', 'This API key cannot do this: it expires before the key whose token it would receive.')
}

function ownDomain({ sendingDomains }: Services, accountId: string, idOrName: string): string {
  try {
    return sendingDomains.get(accountId, idOrName).id
  } catch (error) {
    if (!(error instanceof SternaError) || error.code !== 'not_found') throw error
    const message = 'The `domain_id` field is neither the id nor the name of a domain of this account.'
    throw new SternaError('validation_error', message, { faults: [{ field: 'domain_id', code: 'unknown_domain', message, help: null }] })
  }
}
