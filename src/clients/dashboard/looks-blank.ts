const unseenElements = ['head', 'style', 'script', 'title', 'template']
/** What shows something without a word; a picture from the web is not loaded. */
const seenElement = /<(?:img|video)\b[^<>]*\bsrc\s{0,9}=\s{0,9}["']?\s{0,9}(?:data|cid):|<(?:hr|svg|input|button)\b/i
/** Spaces, and what takes no room: joiners, soft hyphens and marks of direction. */
const unseen = /&(?:nbsp|zwnj|zwj|shy|#8203|#847|#173|#160|#65279);?|\u034f|[\s\u00ad\u061c\u200b-\u200f\u2060-\u2064\ufeff]/gi

/** Whether the HTML of an email shows nothing while pictures from the web are not loaded. Takes time in proportion to its length. */
export function looksBlank(html: string): boolean {
  const shown = unseenElements.reduce(
    (rest, name) => withoutBetween(rest, new RegExp(`<${name}(?=[\\s/>])`, 'gi'), `</${name}>`),
    withoutBetween(html, /<!--/g, '-->'),
  )
  return !seenElement.test(shown) && shown.replace(/<[^<>]*>/g, '').replace(unseen, '') === ''
}

/** Leaves out what stands between the two; what is not ended goes on to the end. */
function withoutBetween(html: string, begin: RegExp, end: string): string {
  const lower = html.toLowerCase()
  let kept = ''
  let from = 0
  for (let found = begin.exec(html); found; found = begin.exec(html)) {
    kept += html.slice(from, found.index)
    const ended = lower.indexOf(end, begin.lastIndex)
    if (ended === -1) return kept
    from = begin.lastIndex = ended + end.length
  }
  return kept + html.slice(from)
}
