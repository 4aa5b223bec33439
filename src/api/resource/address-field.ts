import { z } from 'zod'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import type { CheckParams } from '../../platform/errors.ts'

/** An address in a request body, as somebody pasted it: with or without a name. */
export const addressField = z
  .string()
  .max(512)
  .transform((text, ctx) => {
    const parsed = parsePasted(text)
    if (parsed.ok) return parsed
    const params: CheckParams = { code: 'invalid_email', help: parsed.fault }
    ctx.addIssue({ code: 'custom', message: 'is not a valid email address', params })
    return z.NEVER
  })
