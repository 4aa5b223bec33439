import { z } from 'zod'
import type { CheckParams } from '../../../platform/errors.ts'

/** More than any limit of ours, so that a hostile list is refused before its elements are looked at. */
const maxListLength = 1000

/** A member that this server has no use for: it may stand there as long as it asks for nothing. */
export const harmless = (test: (value: unknown) => boolean, message: string) =>
  z
    .custom<unknown>((value) => test(value), {
      error: message,
      params: { code: 'unsupported_field', error: 'unsupported_field' } satisfies CheckParams,
      abort: true,
    })
    .optional()

/** A list, its length looked at first. */
export const listOf = <S extends z.ZodType>(item: S, most = maxListLength) =>
  z
    .custom<unknown[]>((value) => !Array.isArray(value) || value.length <= most, {
      error: `must have at most ${most} entries`,
      params: { code: 'too_many' } satisfies CheckParams,
      abort: true,
    })
    .pipe(z.array(item))

/** An object of any members, their number looked at first. */
export const recordOf = <S extends z.ZodType>(value: S, most = maxListLength) =>
  z
    .custom<Record<string, unknown>>((given) => given === null || typeof given !== 'object' || Object.keys(given).length <= most, {
      error: `must have at most ${most} entries`,
      params: { code: 'too_many' } satisfies CheckParams,
      abort: true,
    })
    .pipe(z.record(z.string(), value))

/** Absent, null, false, or an empty list, text or object. */
export const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.values(value).every(isNothing))

/** `{ enable: false, … }`, as several settings of SendGrid have it, or nothing. */
export const isTurnedOff = (value: unknown): boolean =>
  isNothing(value) || (typeof value === 'object' && value !== null && 'enable' in value && value.enable === false)
