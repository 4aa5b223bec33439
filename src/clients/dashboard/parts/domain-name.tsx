import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { SaveButton } from './controls.tsx'
import { Field } from './fields.tsx'

/** The name of a domain to add. */
export const DomainName = (field: { name: string; value: string; onValue(name: string): void }) => (
  <Field {...field} label={t.domains.nameLabel} hint={t.domains.nameHint} spellcheck={false} />
)

/** Adds a domain; what is published already, as after a move, is found at once. */
export async function addDomain(name: string): Promise<Domain> {
  const domain = await call<Domain>('/api/domains', { method: 'POST', body: { name } })
  await call(`/api/domains/${domain.id}/verify`, { method: 'POST' })
  invalidate('/api/domains')
  return domain
}

export const ZoneFile = ({ domain: { id, name } }: { domain: Domain }) => (
  <SaveButton text={t.domain.zoneFile} path={`/api/domains/${id}/zone`} file={`${name}.zone`} type="text/dns" />
)
