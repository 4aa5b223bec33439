import { z } from 'zod'
import type { CheckParams } from '../../platform/errors.ts'

/** What is wrong with a file is told under one name, whichever form it has. */
const fault = (code: string): CheckParams => ({ code, error: 'invalid_attachment' })

/** Not of this form; a union then looks at its next. */
const otherForm: CheckParams = { code: 'invalid_type' }

const base64 = z
  .string()
  .refine(isBase64, { error: 'must be the file in base64, without a data: prefix', params: fault('invalid_base64') })
  .describe('The file in base64 (RFC 4648 section 4), which may be broken into lines.')

const bytesSchema = { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } }
const notBytes = { error: 'must have whole numbers from 0 to 255, and nothing else', params: fault('invalid_bytes') }

// A check for each of ten million elements would hold ten million results.
const byteList = z
  .custom<number[]>(Array.isArray, { error: 'must be a list of bytes', params: otherForm, abort: true })
  .refine(areBytes, notBytes)
  .meta({ ...bytesSchema, description: 'The bytes of the file, as Python clients send them.' })

const bufferJson = z
  .custom<{ data: number[] }>(isBufferJson, { error: 'must be a Buffer', params: otherForm, abort: true })
  .refine(({ data }) => areBytes(data), notBytes)
  .meta({
    type: 'object',
    properties: { type: { const: 'Buffer' }, data: bytesSchema },
    required: ['type', 'data'],
    description: 'What `JSON.stringify` makes of a Buffer of Node.',
  })

/** The content of an attachment in any of the forms in which clients send it. */
export const attachmentContent = z.union([base64, byteList, bufferJson], {
  error: 'must be the file in base64, as a list of its bytes, or as {"type": "Buffer", "data": [...]}',
})

export function bytesOf(content: z.output<typeof attachmentContent>): Buffer {
  if (typeof content === 'string') return Buffer.from(content, 'base64')
  return Buffer.from(Array.isArray(content) ? content : content.data)
}

/** RFC 4648 section 4 with its padding, in lines or not, and nothing else: a decoder would silently drop what it does not know. */
function isBase64(text: string): boolean {
  const joined = /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, '') : text
  return joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined)
}

function areBytes(list: unknown[]): boolean {
  return list.every((value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255)
}

function isBufferJson(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value &&
    Array.isArray(value.data)
  )
}
