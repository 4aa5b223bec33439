const end = '<!-- The end of what is made -->'

/** A page with this content between the mark of its source and the mark of its end. */
export function withMadePart(page: string, source: string, content: string): string {
  const start = `<!-- Made by \`npm run docs\` from ${source} -->`
  const [before, rest] = page.split(start)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`A page has lost the place of what is made from ${source}`)
  return `${before}${start}\n\n${content}\n\n${end}${after}`
}
