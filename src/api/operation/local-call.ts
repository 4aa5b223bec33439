import type { UncheckedCall } from './call.ts'
import type { Caller } from './caller.ts'

/** What a client in this process says in a call. */
export interface LocalCall {
  params?: Record<string, string>
  /** As texts, as they would stand in a query string. */
  query?: Record<string, string | undefined>
  body?: unknown
  headers?: UncheckedCall['headers']
  /** Gets the header fields of the answer, such as `Idempotency-Replayed`. */
  reply?: UncheckedCall['reply']
}

/** A call that a client in this process makes, for `perform`. */
export const localCall = (
  caller: Caller,
  { params = {}, query = {}, body, headers = {}, reply = new Headers() }: LocalCall = {},
): UncheckedCall => ({
  caller,
  params,
  query: new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)).toString(),
  headers,
  path: '',
  reply,
  readBody: ({ as }) => (as === 'bytes' ? Buffer.from(JSON.stringify(body ?? null)) : as === 'text' ? String(body ?? '') : body),
})
