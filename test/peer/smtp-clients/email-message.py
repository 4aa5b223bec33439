import os, smtplib, ssl
from email.message import EmailMessage
from email.policy import SMTP

env = os.environ
message = EmailMessage(policy=SMTP)
message['From'] = env['FROM']
message['To'] = env['TO']
message['Subject'] = env['SUBJECT']
message.set_content(open(env['TEXT'], encoding='utf-8', newline='').read(), cte=env.get('ENCODING'))
message.add_attachment(open(env['ATTACHMENT'], 'rb').read(), maintype='application', subtype='octet-stream', filename=env['FILENAME'])
with smtplib.SMTP(env['HOST'], int(env['PORT'])) as client:
    client.starttls(context=ssl._create_unverified_context())
    client.login('any', env['KEY'])
    client.send_message(message)
