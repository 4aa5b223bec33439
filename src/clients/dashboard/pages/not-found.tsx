import { Page } from '../parts/page.tsx'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function NotFound() {
  return (
    <Page heading={t.notFound.heading} sub={t.notFound.text}>
      <p>
        <Link href="/">{t.notFound.home}</Link>
      </p>
    </Page>
  )
}
