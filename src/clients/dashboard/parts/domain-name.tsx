import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Field } from './fields.tsx'

/** The name of a domain to add. */
export const DomainName = ({ value, onValue }: { value: string; onValue(name: string): void }) => (
  <Field
    name="name"
    label={t.domains.nameLabel}
    hint={t.domains.nameHint}
    value={value}
    onValue={onValue}
    autocomplete="off"
    spellcheck={false}
  />
)

/** Adds a domain; what is published already, as after a move, is found at once. */
export async function addDomain(name: string): Promise<Domain> {
  const domain = await call<Domain>('/api/domains', { method: 'POST', body: { name } })
  await call(`/api/domains/${domain.id}/verify`, { method: 'POST' })
  invalidate('/api/domains')
  return domain
}
