import type { ErrorCode } from '../../platform/errors.ts'
import { changesLive, needsKey, takesIdempotencyKey, type Operation } from './operation.ts'

/** Every error that an endpoint may return: those it declares, and those that follow from what it requires and accepts. */
export function refusalsOf(declared: Omit<Operation, 'handle'>): ErrorCode[] {
  return [...new Set<ErrorCode>([...commonTo(declared), ...(declared.refuses ?? [])])]
}

function commonTo(declared: Omit<Operation, 'handle'>): ErrorCode[] {
  return [
    ...(needsKey(declared)
      ? (['invalid_host', 'missing_api_key', 'invalid_api_key', 'expired_api_key', 'invalid_session', 'rate_limit_exceeded'] as const)
      : []),
    ...(needsKey(declared) && (declared.permission !== null || changesLive(declared)) ? (['restricted_api_key'] as const) : []),
    ...(needsKey(declared) && declared.path.includes('{') ? (['not_found'] as const) : []),
    ...(/^\/(?:api|session)\//.test(`${declared.path}/`) ? (['https_required'] as const) : []),
    ...(declared.query && Object.keys(declared.query).length > 0 ? (['invalid_parameter'] as const) : []),
    ...(declared.body ? bodyRefusals : []),
    ...(takesIdempotencyKey(declared) ? idempotencyRefusals : []),
    ...(declared.method === 'GET' ? [] : (['insufficient_storage'] as const)),
    'internal_server_error',
    'damaged_data',
    'service_unavailable',
  ]
}

const idempotencyRefusals = ['invalid_idempotency_key', 'invalid_idempotent_request', 'concurrent_idempotent_requests'] as const
const bodyRefusals = ['invalid_json', 'unsupported_media_type', 'payload_too_large', 'validation_error', 'missing_required_field'] as const
