import { Resend } from 'resend'
import type { ClientRelay } from './client-relay.ts'

/** Resend's own client, told where our API is. */
export const resendClient = (relay: ClientRelay, key = relay.token): Resend => new Resend(key, { baseUrl: `${relay.baseUrl}/api` })

/** The answer of a call that must have gone well: this client never throws. */
export function done<T>({ data, error }: { data: T | null; error: unknown }): T {
  if (error !== null || data === null) throw new Error(`the call was refused: ${JSON.stringify(error)}`)
  return data
}

/** The refusal of a call that must not have gone well. */
export function refused<E>({ data, error }: { data: unknown; error: E | null }): E {
  if (error === null) throw new Error(`the call was taken: ${JSON.stringify(data)}`)
  return error
}
