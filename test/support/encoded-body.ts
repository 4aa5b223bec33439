const boundary = 'sterna-generated-8f14e45f'

/** The media type with what a server needs to read such a body. */
export const contentTypeOf = (mediaType: string): string =>
  mediaType === 'multipart/form-data' ? `${mediaType}; boundary=${boundary}` : mediaType

/** A JSON text in the form that the media type has for it; what is no object stays as it is. */
export function encodedBody(json: string, mediaType: string): string {
  if (mediaType !== 'multipart/form-data' && mediaType !== 'application/x-www-form-urlencoded') return json
  const fields = fieldsIn(json)
  if (fields === null) return json
  if (mediaType !== 'multipart/form-data') return new URLSearchParams(fields.map(([name, value]) => [name, textOf(value)])).toString()
  return `${fields.map(([name, value]) => part(name, value)).join('')}--${boundary}--\r\n`
}

/** A list is a field that is given several times. */
function fieldsIn(json: string): [name: string, value: unknown][] | null {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    return Object.entries(value).flatMap(([name, held]) =>
      Array.isArray(held) ? held.map((one): [string, unknown] => [name, one]) : [[name, held] as [string, unknown]],
    )
  } catch {
    return null
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function part(name: string, value: unknown): string {
  const quoted = (text: string): string => `"${text.replace(/["\r\n]/g, '_')}"`
  const isFile = typeof value === 'object' && value !== null && 'filename' in value && 'content' in value
  const disposition = `Content-Disposition: form-data; name=${quoted(name)}`
  const header = isFile
    ? `${disposition}; filename=${quoted(textOf(value.filename))}\r\nContent-Type: application/octet-stream`
    : disposition
  return `--${boundary}\r\n${header}\r\n\r\n${textOf(isFile ? value.content : value)}\r\n`
}
