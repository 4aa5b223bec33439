import { useAll } from '../api/cache.ts'
import type { Domain } from '../api/types.ts'
import { Dialog } from '../parts/dialog.tsx'
import { addDomain, DomainName } from '../parts/domain-name.tsx'
import { useFields } from '../parts/fields.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { type Column, linked } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Domains() {
  return (
    <ListPage
      heading={t.nav.domains}
      list={useAll<Domain>('/api/domains')}
      columns={columns()}
      none={t.domains.none}
      add={mayChange() && { text: t.domains.add, dialog: (close) => <AddDomain onClose={close} /> }}
    />
  )
}

const columns = (): Column<Domain>[] => [
  linked(t.common.domain, ({ name }) => [`/domains/${name}`, name]),
  { head: t.common.status, kind: 'state', cell: ({ status }) => <State of={status} /> },
  {
    head: t.domains.records,
    kind: 'note',
    cell: ({ records }) => t.domains.recordsFound(records.filter(({ status }) => status === 'verified').length, records.length),
  },
  { head: t.common.added, kind: 'age', cell: ({ created_at: at }) => <Age of={at} /> },
]

function AddDomain({ onClose }: { onClose(): void }) {
  const { values, field } = useFields({ name: '' })
  const add = async (): Promise<void> => navigate(`/domains/${(await addDomain(values.name)).name}`)
  return (
    <Dialog main="name" heading={t.domains.add} button={t.common.add} run={add} onClose={onClose} disabled={values.name.trim() === ''}>
      <DomainName {...field('name')} />
    </Dialog>
  )
}
