/** The tags of `a=b; c=d`, as DKIM and DMARC records are written, without white space in the values. */
export function tagsOf(text: string): Map<string, string> {
  const tags = new Map<string, string>()
  for (const tag of text.split(';')) {
    const equals = tag.indexOf('=')
    if (equals !== -1) tags.set(tag.slice(0, equals).trim(), tag.slice(equals + 1).replace(/\s+/g, ''))
  }
  return tags
}

/**
 * A text without the quotation marks and backslashes of a zone file (RFC 1035 5.1), which some DNS panels store as part of the value if
 * somebody enters them.
 */
export const withoutZoneFileMarks = (text: string): string =>
  text
    .trim()
    // Without the lookbehind, a long row of marks in the middle would be read again from each of them.
    .replace(/^["“”'`]+|(?<!["“”'`])["“”'`]+$/g, '')
    .replace(/"\s*"/g, '')
    .replace(/\\(.)/g, '$1')
