import { parseIsoTime } from '../../../platform/iso-time.ts'
import { parsePasted } from '../../../platform/smtp/mailbox.ts'
import type { ApiContext } from '../api-state.ts'
import { refusal } from '../../operation/validate.ts'
import { faultAt } from './native-email.ts'

/** A parameter of the query string, in capitals or not; undefined where it is absent or empty. Not `ctx.query`, which takes long for many. */
export function queryText(ctx: ApiContext, name: string): string | undefined {
  const wanted = name.toLowerCase()
  for (const [given, value] of new URLSearchParams(ctx.querystring)) if (given.toLowerCase() === wanted) return value || undefined
  return undefined
}

/**
 * A whole number in the query string.
 * @throws SternaError `validation_error` where it is none, or beyond the bounds
 */
export function queryNumber(ctx: ApiContext, name: string, { usual, least, most }: { usual: number; least: number; most: number }): number {
  const text = queryText(ctx, name)
  if (text === undefined) return usual
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (value >= least && value <= most) return value
  throw refusal([faultAt(name, 'invalid_value', `The parameter ${name} must be a whole number from ${least} to ${most}.`)])
}

/** A time in ISO 8601 in the query string, epoch, ms. @throws SternaError `validation_error` */
export function queryTime(ctx: ApiContext, name: string): number | null {
  const text = queryText(ctx, name)
  if (text === undefined) return null
  const at = parseIsoTime(/T.*\d$/.test(text) ? `${text}Z` : text)
  if (at !== null) return at
  throw refusal([faultAt(name, 'invalid_value', `The parameter ${name} must be a time such as 2026-11-21T06:00:00Z, or a date.`)])
}

/** @throws SternaError `validation_error` where the text is no address */
export function addressIn(text: string, field: string): string {
  const parsed = parsePasted(text)
  if (parsed.ok) return parsed.address
  throw refusal([faultAt(field, 'invalid_email', `The \`${field}\` field is not a valid email address. ${parsed.fault}`)])
}
