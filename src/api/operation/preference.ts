/**
 * Which of the choices a header field such as Accept or Accept-Language prefers (RFC 9110 12.4.2, 12.5); the first one where it likes
 * several the same, or where there is no such field. Null where it wants none of them.
 */
export function preferred<const Choice extends string>(field: string | undefined, choices: readonly [Choice, ...Choice[]]): Choice | null {
  if (field === undefined) return choices[0]
  const ranges = field.split(',').map(parsedRange)
  let best: { choice: Choice; quality: number; closeness: number; place: number } | null = null
  for (const choice of choices) {
    const found = closest(ranges, choice)
    if (found === null || found.quality === 0) continue
    const isBetter =
      best === null ||
      found.quality > best.quality ||
      (found.quality === best.quality &&
        (found.closeness > best.closeness || (found.closeness === best.closeness && found.place < best.place)))
    if (isBetter) best = { choice, ...found }
  }
  return best?.choice ?? null
}

/** True if the client prefers HTML, as a browser that opens a page does. Programs that accept anything get JSON. */
export const wantsPage = (accept: string | undefined): boolean => preferred(accept, ['application/json', 'text/html']) === 'text/html'

interface Range {
  name: string
  quality: number
}

function parsedRange(text: string): Range {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return { name, quality: quality === undefined ? 1 : Number(quality) || 0 }
}

/** The range that describes the choice most closely; its quality counts. */
function closest(ranges: readonly Range[], choice: string): { quality: number; closeness: number; place: number } | null {
  let found: { quality: number; closeness: number; place: number } | null = null
  for (const [place, { name, quality }] of ranges.entries()) {
    const closeness = closenessOf(name, choice.toLowerCase())
    if (closeness > (found?.closeness ?? 0)) found = { quality, closeness, place }
  }
  return found
}

/** 3: the same; 2: of the same language or type; 1: anything; 0: no match. */
function closenessOf(range: string, choice: string): number {
  if (range === choice) return 3
  if (range === `${choice.split('/')[0]}/*` || range.startsWith(`${choice}-`)) return 2
  return range === '*' || range === '*/*' ? 1 : 0
}
