import { SternaError } from '../../platform/errors.ts'
import type { ApiContext } from './api-state.ts'
import { smallBodyLimit } from './json-body.ts'

/**
 * The fields of a form as a browser sends it.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`
 */
export async function formBody(ctx: ApiContext): Promise<URLSearchParams> {
  if (!isForm(ctx)) throw new SternaError('unsupported_media_type', 'Send the form as a browser does.')
  return new URLSearchParams(await formText(ctx))
}

/** Whether the body is URL-encoded. */
export const isForm = ({ req }: ApiContext): boolean => /^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? '')

/** @throws SternaError `payload_too_large` */
export async function formText({ req }: ApiContext): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > smallBodyLimit) throw new SternaError('payload_too_large', 'The form is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
