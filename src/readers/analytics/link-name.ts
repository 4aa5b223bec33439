const maxLinkLength = 500
/** Text that makes an address with what precedes it and a domain after it. */
const addressLike = /[^\s/@=]+(?:@|=|\+40|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)+/i
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** No human writes such a word: it is one reader's token. */
const token = /^(?=.*\d)[A-Za-z0-9_~]{20,}$/

/**
 * The name under which clicks on a template's link count: the link without query and fragment, which are usually personal, and with `*` for
 * each part of the path that looks personal. Null if it is no link, or too long.
 */
export function linkName(link: string): string | null {
  if (!/^https?:\/\//i.test(link) || !URL.canParse(link)) return null
  const { origin, pathname } = new URL(link)
  const path = pathname
    .split('/')
    .map((part) => (isPersonal(part) ? '*' : part))
    .join('/')
  const name = origin + path
  return name.length > maxLinkLength ? null : name
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
