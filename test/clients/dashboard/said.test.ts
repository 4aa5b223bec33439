import { expect, test } from 'vitest'
import type { LaterTexts, SaidTexts } from '../../../src/clients/dashboard/texts/said.ts'
import { de } from '../../../src/clients/dashboard/texts/de.ts'
import { dmarcReasonWordings } from '../../../src/mail-back/domain-report/dmarc-reason-wordings.ts'
import { findingWordings } from '../../../src/upkeep/doctor/finding-wordings.ts'
import { causes } from '../../../src/readers/explanation/causes.ts'
import { adviceAboutRetries, adviceAboutSuppressions } from '../../../src/readers/explanation/explanation.ts'
import { contentWordings } from '../../../src/mail/message/content-wordings.ts'
import type { Wording } from '../../../src/platform/wording.ts'

const declared: Record<Exclude<keyof SaidTexts | keyof LaterTexts, 'loadLater'>, Record<string, Wording>> = {
  advice: Object.fromEntries(Object.entries({ ...adviceAboutRetries, ...adviceAboutSuppressions }).map(([code, what]) => [code, { what }])),
  causes,
  content: contentWordings,
  findings: findingWordings,
  dmarc: dmarcReasonWordings,
}

const namesIn = (text: string | undefined): string[] => [...new Set(text?.match(/\{\w+\}/g))].toSorted()

test.each(Object.entries(declared))('German says whatever the API says in English: %s', async (about, wordings) => {
  const { loadLater, ...atOnce } = de.said as SaidTexts
  const said: Record<string, Wording> = { ...atOnce, ...(await loadLater()) }[about as keyof typeof declared]
  expect(Object.keys(said).toSorted()).toEqual(Object.keys(wordings).toSorted())
  for (const [code, { what, advice }] of Object.entries(wordings)) {
    const german = said[code]
    expect({ code, names: namesIn(`${german?.what} ${german?.advice}`) }).toEqual({ code, names: namesIn(`${what} ${advice}`) })
    expect({ code, hasAdvice: german?.advice !== undefined }).toEqual({ code, hasAdvice: advice !== undefined })
    expect({ code, what: german?.what }).not.toEqual({ code, what: /[a-z]{3} [a-z]{2}/.test(what) ? what : null })
  }
})
