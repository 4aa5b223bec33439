import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { getDomain, getPublicSuffix } from 'tldts'
import { SternaError } from '../../platform/errors.ts'

/** Leaves room for the names of the records below it, and for a reverse-path of at most 254 characters. */
const maxDomainLength = 190

/**
 * A sending domain, in A-labels and lower case, without a final dot; U-labels are converted (UTS 46).
 * @throws SternaError `validation_error` for anything that is not a domain, an IP address, a single label, or a public suffix
 */
export function parseDomainName(input: string): string {
  const text = input.endsWith('.') ? input.slice(0, -1) : input
  // Checked before the conversion, which would decode %41 and read 0x7f.1 as an address.
  if (text.length > 1000 || /[\0-,/:-@[-`{-\x7f]/.test(text)) throw invalid(input, 'is not a domain name')
  if (isAddress(text)) throw invalid(input, 'is an IP address, not a domain name')
  const name = domainToASCII(text)
  const labels = name.split('.')
  if (!labels.every(isLabel) || isAddress(name)) throw invalid(input, 'is not a domain name')
  if (name.length > maxDomainLength) throw invalid(input, `is longer than ${maxDomainLength} characters`)
  if (labels.length === 1) throw invalid(input, 'has a single label; give a full domain, such as example.com')
  if (getPublicSuffix(name, { allowPrivateDomains: false }) === name) {
    throw invalid(input, 'is a public suffix, under which anyone can register names; give a domain of your own below it')
  }
  return name
}

/** Whether `parseDomainName` accepts it. */
export function isDomainName(input: string): boolean {
  try {
    return parseDomainName(input) !== ''
  } catch (error) {
    if (error instanceof SternaError) return false
    throw error
  }
}

/**
 * One label below a domain, in lower case, for the return path or for tracking.
 * @param field the name of the input
 * @throws SternaError `validation_error`
 */
export function parseLabel(input: string, field: 'custom_return_path' | 'tracking_subdomain'): string {
  const label = input.toLowerCase()
  if (isLabel(label) && label.length <= 32 && !label.startsWith('xn--')) return label
  throw invalidField(field, 'must be one label of a-z, 0-9 and -, such as send')
}

/**
 * The label for tracking links; null if none is given. Its CNAME cannot share a name with the return path's records (RFC 1034 3.6.2).
 * @throws SternaError `validation_error`
 */
export function parseTrackingLabel(label: string | null | undefined, returnPathLabel: string): string | null {
  if (label == null) return null
  const parsed = parseLabel(label, 'tracking_subdomain')
  if (parsed !== returnPathLabel) return parsed
  throw invalidField('tracking_subdomain', 'must differ from the label of the return path')
}

/**
 * A DKIM selector of one label (RFC 6376 3.1), in lower case, short enough to derive a second one.
 * @throws SternaError `validation_error`
 */
export function parseSelector(input: string): string {
  const selector = input.toLowerCase()
  if (isLabel(selector) && selector.length <= 50 && !selector.startsWith('xn--')) return selector
  throw invalidField('dkim_selector', 'must be one label of a-z, 0-9 and -, at most 50 characters, such as s2027')
}

/** The domain of whoever has registered a name, at a registry or with a provider of subdomains; the name itself if that is one of theirs. */
export const registeredDomain = (name: string): string => getDomain(name, { allowPrivateDomains: true }) ?? name

/** The registered domain: the name itself, or its parent directly below a public suffix (RFC 7489 3.2). */
export const organizationalDomain = (name: string): string => getDomain(name, { allowPrivateDomains: false }) ?? name

const isAddress = (text: string): boolean => isIP(text) !== 0 || /(^|\.)(\d+|0x[0-9a-f]*)$/i.test(text)

function isLabel(label: string): boolean {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label)) return false
  if (!label.startsWith('xn--')) return true
  const unicode = domainToUnicode(label)
  return unicode !== label && domainToASCII(unicode) === label
}

const invalid = (input: string, fault: string): SternaError =>
  new SternaError('validation_error', `"${input.slice(0, 100)}" ${fault}.`, {
    faults: [{ field: 'name', code: 'validation_error', message: `The name ${fault}.`, help: null }],
  })

function invalidField(field: string, fault: string): SternaError {
  const message = `The \`${field}\` field ${fault}.`
  return new SternaError('validation_error', message, { faults: [{ field, code: 'invalid_format', message, help: null }] })
}
