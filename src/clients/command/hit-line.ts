import { SternaError } from '../../platform/errors.ts'
import type { Hit, HitMessage } from '../../readers/tracking/hit.ts'

/**
 * Parses a line that lists the hits on one recipient's message.
 * @param place of the line, for the error
 * @throws SternaError `invalid_parameter` that says what is wrong
 */
export function readHitLine(line: string, place: string): { id: unknown; message: HitMessage } {
  const wrong = (what: string): SternaError => new SternaError('invalid_parameter', `${place}: ${what}.`)
  const { id, links, honeypot, scheme, hits } = objectOf(line, wrong)
  if (id === undefined) throw wrong('id is missing')
  if (!isNumber(links) || links < 0) throw wrong('links must be a number')
  if (typeof honeypot !== 'boolean') throw wrong('honeypot must be true or false')
  if (scheme !== 'http' && scheme !== 'https') throw wrong('scheme must be "http" or "https"')
  if (!Array.isArray(hits)) throw wrong('hits must be a list')
  return { id, message: { links, scheme, hits: hits.map((hit, n) => hitOf(hit, (what) => wrong(`hits[${n}]: ${what}`))) } }
}

type Wrong = (what: string) => SternaError

function objectOf(line: string, wrong: Wrong): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw wrong('the line is not JSON')
  }
  if (!isObject(value)) throw wrong('the line is not a JSON object')
  return value
}

function hitOf(value: unknown, wrong: Wrong): Hit {
  if (!isObject(value)) throw wrong('a hit must be an object')
  const { what, after_delivery_s: after, method, headers, ip } = value
  if (typeof what !== 'string' || !isWhat(what)) throw wrong('what must be "open", "click:<n>" or "honeypot"')
  if (!isNumber(after)) throw wrong('after_delivery_s must be a number')
  if (typeof method !== 'string') throw wrong('method must be a string')
  if (!isObject(headers) || !Object.values(headers).every((one) => typeof one === 'string'))
    throw wrong('headers must be an object of strings')
  if (ip !== null && ip !== undefined && typeof ip !== 'string') throw wrong('ip must be a string or null')
  return { what, afterDeliveryMs: after * 1000, method, headers: headers as Record<string, string>, ip: ip ?? null }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isWhat = (what: string): what is Hit['what'] => what === 'open' || what === 'honeypot' || /^click:\d+$/.test(what)
