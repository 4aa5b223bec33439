import { decodeAttribute } from '../../mail/message/html-entities.ts'

/** characters of a URL; servers and proxies refuse longer ones */
const maxTargetLength = 5500

/**
 * Where the value of an `href` leads, as a browser reads it (WHATWG HTML 2.4.4, URL 4.4): references decoded once, surrounding blanks and
 * inner line ends removed. Null unless that is an `http` or `https` URL with a host, short enough to be followed.
 */
export function linkTarget(value: string): string | null {
  const target = decodeAttribute(value).replace(/^[\0-\x20]+|[\0-\x20]+$|[\t\r\n]+/g, '')
  if (target.length > maxTargetLength || !/^https?:/i.test(target)) return null
  const url = URL.parse(target)
  return url && url.href.length <= maxTargetLength ? target.toWellFormed() : null
}
