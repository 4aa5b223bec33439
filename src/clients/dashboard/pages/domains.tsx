import { useState } from 'preact/hooks'
import { invalidate, useAll } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/fields.tsx'
import { Page } from '../parts/page.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { Link, navigate } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Domains() {
  const domains = useAll<Domain>('/api/domains')
  const [isAdding, setAdding] = useState(false)
  const add = mayChange() && (
    <button class="btn main" type="button" onClick={() => setAdding(true)}>
      {t.domains.add}
    </button>
  )
  return (
    <Page heading={t.domains.title} actions={add}>
      <section class="panel" aria-label={t.domains.title}>
        <Answer of={domains}>
          {({ data }) => (data.length === 0 ? <Empty text={t.domains.none}>{add}</Empty> : <Table domains={data} />)}
        </Answer>
      </section>
      {isAdding && <AddDomain onClose={() => setAdding(false)} />}
    </Page>
  )
}

const Table = ({ domains }: { domains: Domain[] }) => (
  <table class="flow">
    <thead>
      <tr>
        <th scope="col">{t.domains.name}</th>
        <th scope="col">{t.common.status}</th>
        <th scope="col">{t.domains.records}</th>
        <th scope="col" class="num">
          {t.domains.added}
        </th>
      </tr>
    </thead>
    <tbody>
      {domains.map(({ id, name, status, records, created_at: createdAt }) => (
        <tr key={id}>
          <td class="full">
            <Link class="row" href={`/domains/${name}`}>
              {name}
            </Link>
          </td>
          <td class="grow">
            <State of={status} />
          </td>
          <td class="muted">{t.domains.recordsFound(records.filter((record) => record.status === 'verified').length, records.length)}</td>
          <td class="num muted">
            <Age of={createdAt} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

function AddDomain({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const add = async (): Promise<void> => {
    const domain = await call<Domain>('/api/domains', { method: 'POST', body: { name } })
    invalidate('/api/domains')
    // What is published already, as after a move, is found at once.
    await call(`/api/domains/${domain.id}/verify`, { method: 'POST' })
    navigate(`/domains/${domain.name}`)
  }
  return (
    <Dialog main="name" heading={t.domains.add} button={t.common.add} run={add} onClose={onClose} disabled={name.trim() === ''}>
      <Field
        name="name"
        label={t.domains.nameLabel}
        hint={t.domains.nameHint}
        value={name}
        onValue={setName}
        autocomplete="off"
        spellcheck={false}
      />
    </Dialog>
  )
}
