const longestLink = 500
/** Where something before it and a domain behind it make an address. */
const addressLike = /[^\s/@=]+(?:@|=|\+40|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)+/i
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** Nobody writes such a word: a token of one reader's own. */
const token = /^(?=.*\d)[A-Za-z0-9_~]{20,}$/

/**
 * What the clicks on a template's link are counted under: the link without query and fragment, which are mostly one reader's own, and
 * with `*` for each part of its path that looks so. Null for what is no link, or too long.
 */
export function linkName(link: string): string | null {
  if (!/^https?:\/\//i.test(link) || !URL.canParse(link)) return null
  const { origin, pathname } = new URL(link)
  const path = pathname
    .split('/')
    .map((part) => (isPersonal(part) ? '*' : part))
    .join('/')
  const name = origin + path
  return name.length > longestLink ? null : name
}

function isPersonal(part: string): boolean {
  const text = decoded(part)
  return uuid.test(text) || token.test(text) || addressLike.test(text)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
