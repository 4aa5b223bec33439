"""Submits a message with parameters of MAIL, if the server offers what they need."""
import os, smtplib, ssl

env = os.environ
with smtplib.SMTP(env['HOST'], int(env['PORT'])) as client:
    client.starttls(context=ssl._create_unverified_context())
    client.ehlo()
    missing = [name for name in env['NEEDS'].split() if not client.has_extn(name)]
    if missing:
        raise SystemExit(f'not offered: {missing}')
    client.login('any', env['KEY'])
    print(client.esmtp_features['futurerelease'], client.esmtp_features['deliverby'])
    message = f"From: <{env['FROM']}>\r\nTo: <{env['TO']}>\r\nSubject: Asked\r\n\r\nHello.\r\n"
    client.sendmail(env['FROM'], [env['TO']], message, mail_options=env['ASKS'].split())
