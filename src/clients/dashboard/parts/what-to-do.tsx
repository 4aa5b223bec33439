import type { ComponentChildren } from 'preact'
import type { Explanation } from '../api/types.ts'
import { explained } from '../say.ts'
import { t } from '../texts/texts.ts'

/** Who can do something about a failure, what, and the provider's page about it. */
export const WhatToDo = ({ explanation, children }: { explanation: Explanation; children?: ComponentChildren }) => (
  <p>
    {t.owners[explanation.owner]} {explained(explanation).advice} {/* Of an older node beside this one, there is no link. */}
    {explanation.link && <a href={explanation.link}>{t.email.askProvider}</a>} {children}
  </p>
)
