import type { ComponentChildren } from 'preact'
import type { Explanation } from '../api/types.ts'
import { explained } from '../say.ts'
import { t } from '../texts/texts.ts'

/** Who can do something about a failure, what, and the provider's page about it. */
export const WhatToDo = ({ explanation, children }: { explanation: Explanation; children?: ComponentChildren }) => (
  <p>
    {t.owners[explanation.owner]} {explained(explanation).advice}{' '}
    {explanation.link !== null && <a href={explanation.link}>{t.email.providersPage(placeOf(explanation.link))}</a>} {children}
  </p>
)

/** The host of a page, or an address. */
const placeOf = (link: string): string => {
  const { protocol, hostname, pathname } = new URL(link)
  return protocol === 'mailto:' ? pathname : hostname
}
