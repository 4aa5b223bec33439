import { z } from 'zod'
import { parseIsoTime } from '../../platform/iso-time.ts'
import type { CheckParams } from '../../platform/errors.ts'

/** A time in a request body, parsed to epoch, ms. */
export const timeField = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text, ctx) => {
    const at = parseIsoTime(text)
    if (at !== null) return at
    const params: CheckParams = { code: 'invalid_time' }
    ctx.addIssue({ code: 'custom', message: 'must be a time such as 2026-11-21T06:00:00Z', params })
    return z.NEVER
  })

/** A time in a response or an event, as `isoTime` writes it. */
export const timeAnswer = z.iso.datetime({ precision: 3 })
