import { z } from 'zod'
import { parseAddress } from '../smtp/address.ts'
import type { CheckParams } from './validate.ts'

/** A bare address in a request body, parsed. */
export const addressField = z
  .string()
  .max(512)
  .transform((text, ctx) => {
    const parsed = parseAddress(text)
    if (parsed.ok) return parsed
    const params: CheckParams = { code: 'invalid_email', help: parsed.fault }
    ctx.addIssue({ code: 'custom', message: 'is not a valid email address', params })
    return z.NEVER
  })
