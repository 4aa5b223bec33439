/** A picture within a message. */
interface Picture {
  contentType: string
  /** Without angle brackets. */
  cid?: string | undefined
  content: Uint8Array
}

/** What may stand in a `data:` URL within an attribute without being escaped. */
const pictureType = /^image\/[\w.+-]{1,60}$/i
const pictureLink = /\bcid:([^"'\s()<>]{1,256})/gi

/**
 * HTML that shows its pictures by itself: those of the same message (RFC 2392) take the place of the links to them, as far as all of it
 * fits into `limit` bytes.
 */
export function withPictures(html: string, pictures: readonly Picture[], limit: number): string {
  const byId = new Map(pictures.flatMap((picture) => (isLinked(picture) ? [[picture.cid, picture] as const] : [])))
  let size = Buffer.byteLength(html)
  return html.replace(pictureLink, (link, id: string) => {
    const picture = byId.get(id) ?? byId.get(decoded(id))
    if (!picture) return link
    const longer = picture.content.length * 1.4 + 100
    if (size + longer > limit) return link
    size += longer
    return `data:${picture.contentType};base64,${Buffer.from(picture.content).toString('base64')}`
  })
}

const isLinked = (picture: Picture): picture is Picture & { cid: string } =>
  picture.cid !== undefined && pictureType.test(picture.contentType)

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
