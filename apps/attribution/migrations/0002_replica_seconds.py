from decimal import Decimal

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('attribution', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='ledgerline',
            name='seconds',
            field=models.DecimalField(decimal_places=9, default=Decimal(0), help_text='Of the replica, whatever it holds.', max_digits=20),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='ledgerline',
            name='gpu_seconds',
            field=models.DecimalField(decimal_places=9, help_text='Null: how many GPUs the replica holds is not known.', max_digits=20, null=True),
        ),
        migrations.AlterField(
            model_name='ledgerline',
            name='reason',
            field=models.CharField(blank=True, max_length=400),
        ),
        migrations.AlterField(
            model_name='taskcost',
            name='reason',
            field=models.CharField(blank=True, max_length=400),
        ),
    ]
