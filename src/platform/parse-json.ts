import { isUtf8 } from 'node:buffer'
import { SternaError } from './errors.ts'
import { jsonFault, type JsonFault } from './json-fault.ts'

/** @throws SternaError `invalid_json` */
export const parseJson = (body: Buffer): unknown => parseJsonText(jsonText(body))

/** @throws SternaError `invalid_json` if it is not UTF-8 */
export function jsonText(body: Buffer): string {
  if (isUtf8(body)) return body.toString('utf8')
  throw new SternaError('invalid_json', 'The request body is not valid UTF-8.')
}

/** @throws SternaError `invalid_json` */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new SternaError('invalid_json', `The request body is not valid JSON${whereOf(jsonFault(text))}.`)
  }
}

const whereOf = (fault: JsonFault | null): string =>
  fault === null ? '' : `: ${fault.isCutOff ? 'it breaks off at' : 'see'} line ${fault.line}, column ${fault.column}`
