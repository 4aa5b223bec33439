import type { JsonSchema } from './openapi-schema.ts'

const whole = { type: 'integer', minimum: 0 }
const text = { type: 'string' }

/** The response headers, for `components.headers`. */
export const responseHeaders = {
  'X-Request-Id': { description: 'The id of the request, also in the log of the server.', required: true, schema: text },
  'X-Api-Version': { description: 'The version of the paths under /api.', required: true, schema: { type: 'string', const: '1' } },
  'RateLimit-Limit': { description: 'Requests per minute that the plan allows.', schema: whole },
  'RateLimit-Remaining': { description: 'How many requests are left.', schema: whole },
  'RateLimit-Reset': { description: 'Seconds until one more becomes free.', schema: whole },
  'RateLimit-Policy': { description: 'The plan, as a structured field: `"free";q=100;w=60`.', schema: text },
  RateLimit: { description: 'What is left, as a structured field: `"free";r=57;t=42`.', schema: text },
  'Retry-After': { description: 'Seconds after which the same request may succeed.', schema: { type: 'integer', minimum: 1 } },
  'Idempotency-Replayed': {
    description: 'There where the answer is that of an earlier request.',
    schema: { type: 'string', const: 'true' },
  },
  'Dropped-Headers': {
    description:
      'There where header fields of an email were left out, because its message has its own: `Message-ID, Date`. At most 50 names.',
    schema: text,
  },
  'WWW-Authenticate': { description: '`Bearer`.', schema: text },
} satisfies Record<string, JsonSchema>

export type HeaderName = keyof typeof responseHeaders

/** References to the headers of every response, and to these. */
export const headerReferences = (names: readonly HeaderName[]): JsonSchema =>
  Object.fromEntries((['X-Request-Id', 'X-Api-Version', ...names] as const).map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The headers of every response to a valid API key. */
export const rateLimitHeaders = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const satisfies HeaderName[]
