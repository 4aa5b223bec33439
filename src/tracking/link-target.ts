import { decodeHTMLAttribute } from 'entities'

/** characters of a URL; a longer one would make a link, or an answer, that servers and proxies refuse */
const longestTarget = 5500

/**
 * Where the value of an `href` leads, as a browser reads it (WHATWG HTML 2.4.4, URL 4.4): references decoded once, blanks at
 * the ends and line ends within left out. Null where that is no `http` or `https` URL with a host, or too long to be followed.
 */
export function linkTarget(value: string): string | null {
  const target = decodeHTMLAttribute(value).replace(/^[\0-\x20]+|[\0-\x20]+$|[\t\r\n]+/g, '')
  if (target.length > longestTarget || !/^https?:/i.test(target)) return null
  const url = URL.parse(target)
  return url && url.href.length <= longestTarget ? target.toWellFormed() : null
}
