import type { ErrorCode } from '../../../platform/errors.ts'
import { recordSchema } from '../openapi-schema.ts'
import type { Problem } from '../../operation/problem.ts'
import { renamedFields, type CompatApi } from './compat-api.ts'
import { postalField } from './postal-email.ts'

/** Postal answers nearly everything with 200, and says in `status` what came of it. */
const frame = (status: 'success' | 'error' | 'parameter-error', data: object) => ({ status, time: 0, flags: {}, data })

export const postalSuccess = (data: object) => frame('success', data)

export const postalError = (code: string, data: object) => frame('error', { ...data, code })

export const postalAnswerSchema = recordSchema({
  status: { type: 'string', enum: ['success', 'error', 'parameter-error'] },
  time: { type: 'number' },
  flags: { type: 'object' },
  data: { type: ['object', 'array'], items: { description: 'An entry.' } },
})

/** Postal's codes; what has none is a `parameter-error`. */
const codes: Partial<Record<ErrorCode, string>> = {
  missing_api_key: 'AccessDenied',
  restricted_api_key: 'AccessDenied',
  invalid_api_key: 'InvalidServerAPIKey',
  expired_api_key: 'InvalidServerAPIKey',
  account_suspended: 'ServerSuspended',
  domain_not_verified: 'UnauthenticatedFromAddress',
  invalid_from_address: 'UnauthenticatedFromAddress',
  too_many_recipients: 'TooManyToAddresses',
}

/** What tells a client to come back later, or that it is in the wrong place, keeps its status. */
const keepsStatus = (status: number): boolean => status >= 500 || [404, 405, 413, 429].includes(status)

export function postalRefusal({ name, status, message: text }: Problem): ReturnType<CompatApi['refusalForm']> {
  const message = renamedFields(text, postalField)
  const code = keepsStatus(status) ? name : codes[name]
  return {
    status: keepsStatus(status) ? status : 200,
    body: code === undefined ? frame('parameter-error', { message }) : postalError(code, { message }),
  }
}
