import { useEffect, useState } from 'preact/hooks'
import type { DmarcSummary, Explanation } from './api/types.ts'
import type { LaterTexts, Said } from './texts/said.ts'
import { language, t } from './texts/texts.ts'

/** What the API says beside its English sentences. */
interface Spoken {
  code: string
  parameters: Record<string, string | number>
  what: string
  advice: string | null
}

let later: LaterTexts | undefined

/** Loads what the API says in places that few visits come to. */
export async function loadLater(): Promise<void> {
  later = await t.said?.loadLater()
}

/** Loads it once it is needed; true when it can be shown. If it cannot be had, it is shown in English. */
export function useLater(isNeeded: boolean): boolean {
  const [isThere, setThere] = useState(!t.said || !!later)
  useEffect(() => {
    if (isNeeded && !isThere)
      loadLater()
        .catch(() => {})
        .finally(() => setThere(true))
  }, [isNeeded])
  return isThere
}

/** What the API says, in the language in use; in English if a newer server says what has no text here. */
export function inWords(
  about: 'content' | keyof LaterTexts,
  { code, parameters, what, advice }: Spoken,
): { what: string; advice: string | null } {
  const texts: Record<string, Said> | undefined = about === 'content' ? t.said?.content : later?.[about]
  const said = texts?.[code]
  if (said === undefined) return { what, advice }
  const filled = (text: string): string => text.replace(/\{(\w+)\}/g, (whole, name: string) => shown(parameters[name] ?? whole))
  return { what: filled(said.what), advice: said.advice === undefined ? null : filled(said.advice) }
}

/** The sentences of an advice on DMARC. */
export const reasonsOf = ({ reasons, reason_codes: codes }: DmarcSummary['advice']): string[] =>
  reasons.map((what, i) => {
    const said = codes[i]
    return said ? inWords('dmarc', { ...said, what, advice: null }).what : what
  })

/** Why mail did not arrive, and what to do. */
export function explained({ code, cause, advice_codes: codes, advice }: Explanation): { cause: string; advice: string } {
  const said = t.said
  if (!said) return { cause, advice }
  const { causes, advice: sentences }: { causes: Record<string, Said>; advice: Record<string, Said> } = said
  const own = codes.map((each) => sentences[each]?.what ?? causes[each]?.advice)
  return { cause: causes[code]?.what ?? cause, advice: own.includes(undefined) ? advice : own.join(' ') }
}

/** A number or a time as the language in use writes it; anything else as it is. */
function shown(value: string | number): string {
  if (typeof value === 'number') return new Intl.NumberFormat(language(), { maximumFractionDigits: 2 }).format(value)
  if (/^\d{4}-\d\d-\d\d$/.test(value))
    return new Intl.DateTimeFormat(language(), { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(value))
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return value
  return new Intl.DateTimeFormat(language(), { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(value))
}
